//! Writes the lists of scenarios that the crate includes: those that ship, from their list, and for the tests in the browser, which
//! cannot read a folder, those of `tests/scenarios/`. Whoever drops one there need not think of it.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(variable("OUT_DIR")?);
    write_shipped(&root, &out)?;
    write_tests(&root, &out)
}

fn write_shipped(root: &Path, out: &Path) -> io::Result<()> {
    println!("cargo::rerun-if-changed=src/lab/scenarios/shipped.txt");
    let folder = root.join("src/lab/scenarios");
    let list = fs::read_to_string(folder.join("shipped.txt"))?;
    let ids: Vec<&str> = list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let entry = |id: &&str| format!("    ({id:?}, include_str!({:?})),\n", folder.join(format!("{id}.json")));
    let entries: String = ids.iter().map(entry).collect();
    let doc = "/// Id and document of each, in the order in which they are offered.";
    fs::write(out.join("shipped.rs"), format!("{doc}\npub const SHIPPED: [(&str, &str); {}] = [\n{entries}];\n", ids.len()))
}

fn write_tests(root: &Path, out: &Path) -> io::Result<()> {
    println!("cargo::rerun-if-changed=tests/scenarios");
    let mut files: Vec<PathBuf> = Vec::new();
    // The crate is also built without its tests.
    for entry in fs::read_dir(root.join("tests/scenarios")).into_iter().flatten() {
        files.push(entry?.path());
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort_unstable();
    let name = |file: &PathBuf| file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let entries: String = files.iter().map(|file| format!("    ({:?}, include_str!({file:?})),\n", name(file))).collect();
    fs::write(out.join("scenarios.rs"), format!("[\n{entries}]\n"))
}

fn variable(name: &str) -> io::Result<String> {
    env::var(name).map_err(io::Error::other)
}
