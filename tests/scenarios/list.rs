// Written by scripts/scenarios.mjs.
[
    ("every-key.json", include_str!("every-key.json")),
]
