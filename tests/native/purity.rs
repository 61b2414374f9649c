//! The architecture's invariants, read off the sources: no clock, no lots, no I/O but in `src/web/`.

use std::fs;
use std::path::{Path, PathBuf};

/// The sources below a folder, by path.
fn sources(below: &str) -> Vec<(PathBuf, String)> {
    fn collect(folder: &Path, into: &mut Vec<(PathBuf, String)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, into);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                into.push((path, text));
            }
        }
    }
    let mut found = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join(below), &mut found);
    found.sort();
    assert!(!found.is_empty(), "no sources in {below}");
    found
}

/// The code of a line: what stands before a comment. A `//` within a string cuts too much, which hides nothing that is forbidden:
/// code behind a string on the same line is rare, and the compiler's lints see it.
fn code_of(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

/// The words of a line of code, paths such as `std::fs` kept together and `use std::{fs, io}` written out.
fn names(code: &str) -> Vec<String> {
    // A `'static` lifetime is no static.
    let code = code.replace("'static", "");
    let is_part = |character: char| character.is_alphanumeric() || character == '_' || character == ':';
    let words = code.split(|character| !is_part(character)).filter(|word| !word.is_empty());
    let mut names: Vec<String> = words.map(str::to_string).collect();
    if let Some((root, list)) = code.trim().strip_prefix("use ").and_then(|path| path.split_once("::{")) {
        let items = list.trim_end_matches([';', '}', ' ']).split(',');
        names.extend(items.map(|item| format!("{root}::{}", item.trim())));
    }
    names
}

/// What of the forbidden is in a name, by whole parts of a path: `std::fs` is in `std::fs::read`, and `rand` is not in `operand`.
fn is_in<'a>(name: &str, forbidden: &[&'a str]) -> Option<&'a str> {
    let hits = |wanted: &&&str| format!("::{name}::").contains(&format!("::{wanted}::"));
    forbidden.iter().find(hits).copied()
}

/// Places that name something forbidden.
fn places(below: &str, forbidden: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in sources(below) {
        for (index, line) in text.lines().enumerate() {
            for name in names(code_of(line)) {
                if let Some(wanted) = is_in(&name, forbidden) {
                    found.push(format!("{}:{}: {wanted}", path.display(), index + 1));
                }
            }
        }
    }
    found
}

const BROWSER: [&str; 4] = ["wasm_bindgen", "js_sys", "web_sys", "getrandom"];

#[test]
fn core_log_lab_and_report_have_no_clock_no_lots_and_no_io() {
    let forbidden = [
        &BROWSER[..],
        &[
            "SystemTime",
            "Instant",
            "std::fs",
            "std::io",
            "std::net",
            "std::thread",
            "std::env",
            "std::process",
            "rand",
            "fastrand",
            "HashMap",
        ],
        &["HashSet", "RandomState", "println", "eprintln", "dbg", "unsafe", "static", "thread_local"],
    ]
    .concat();
    for below in ["src/agent", "src/log", "src/lab", "src/report"] {
        assert_eq!(places(below, &forbidden), Vec::<String>::new(), "{below} names what only a driver may");
    }
}

#[test]
fn the_search_for_what_is_forbidden_would_find_it() {
    let forbidden = ["static", "std::io", "Instant"];
    let finds = |code: &str| names(code_of(code)).iter().any(|name| is_in(name, &forbidden).is_some());
    for code in [
        "static COUNT: u32 = 0;",
        "pub(crate) static X: u8 = 1;",
        "use std::io::Write;",
        "use std::{fmt, io};",
        "std::time::Instant::now()",
    ] {
        assert!(finds(code), "{code}");
    }
    for code in ["fn as_str(self) -> &'static str {", "let instant = 3;", "// static", "use std::{fmt, iter};"] {
        assert!(!finds(code), "{code}");
    }
}

#[test]
fn only_the_browsers_side_names_the_browser() {
    let elsewhere: Vec<String> = places("src", &BROWSER).into_iter().filter(|place| !place.contains("/src/web/")).collect();
    assert_eq!(elsewhere, Vec::<String>::new());
    // The test would pass on anything if it could not find them where they are.
    let within = places("src/web", &BROWSER);
    assert!(BROWSER.iter().take(3).all(|name| within.iter().any(|place| place.ends_with(name))), "{within:?}");
}

#[test]
fn each_floor_names_only_those_below_it() {
    // The folders of `src/`, the lowest first. The last two stand beside each other.
    let floors = ["base", "record", "agent", "log", "lab", "report", "embed", "web"];
    for (height, floor) in floors.iter().enumerate() {
        let above: Vec<String> = floors[height + 1..].iter().map(|above| format!("crate::{above}")).collect();
        let above: Vec<&str> = above.iter().map(String::as_str).collect();
        let is_beside = |found: &String| *floor == "embed" && found.ends_with("crate::web");
        let found: Vec<String> = places(&format!("src/{floor}"), &above).into_iter().filter(|found| !is_beside(found)).collect();
        assert_eq!(found, Vec::<String>::new(), "src/{floor} names a floor above it");
    }
    let named = sources("src").into_iter().filter_map(|(path, _)| {
        let below = path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).ok()?.to_path_buf();
        (below.components().count() > 1).then(|| below.components().next().unwrap().as_os_str().to_string_lossy().into_owned())
    });
    assert!(named.into_iter().all(|folder| floors.contains(&folder.as_str())), "a folder of src/ has no floor");
}

#[test]
fn what_is_forbidden_is_found_however_it_is_written() {
    let hits = |code: &str| names(code_of(code));
    assert!(hits("use std::{fs, io};").contains(&"std::fs".to_string()));
    assert!(hits("let now = std::time::Instant::now();").iter().any(|name| name.split("::").any(|part| part == "Instant")));
    assert!(!hits("// an Instant is a time").iter().any(|name| name == "Instant"));
    assert!(!hits("let operand = brand(random);").iter().any(|name| name == "rand"));
}

#[test]
fn floating_point_stays_out_of_state_money_and_identity() {
    for below in ["src/base", "src/record", "src/agent", "src/log"] {
        assert_eq!(places(below, &["f64", "f32"]), Vec::<String>::new());
    }
}
