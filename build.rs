//! Lists the scenarios of `tests/scenarios/` for the tests in the browser: a page cannot read a folder. Whoever drops a scenario there
//! need not think of it.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=tests/scenarios");
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?).join("tests/scenarios");
    let mut files: Vec<PathBuf> = Vec::new();
    // The crate is also built without its tests.
    for entry in fs::read_dir(folder).into_iter().flatten() {
        files.push(entry?.path());
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort_unstable();
    let name = |file: &PathBuf| file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let entries: String = files.iter().map(|file| format!("    ({:?}, include_str!({file:?})),\n", name(file))).collect();
    let list = Path::new(&env::var("OUT_DIR").map_err(io::Error::other)?).join("scenarios.rs");
    fs::write(list, format!("[\n{entries}]\n"))
}
