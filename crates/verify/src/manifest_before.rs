//! A Cargo manifest with what it said about tests when the checks were new. What leads to other parts of the program stays as it is, since
//! nothing is built without it.

use toml::{Table, Value};

use crate::cargo_manifest::{DEPENDENCIES, OWN_CRATES, SEEN_IN_TESTS, package_name};

/// Settings of packages, workspaces and targets that leave tests out.
const LEAVE_OUT: [&str; 7] =
    ["autotests", "bench", "default-members", "doctest", "exclude", "harness", "test"];

/// `text` with the settings for tests of the manifest `before`.
pub(crate) fn with_settings_before(text: &str, before: &str) -> String {
    let (Ok(mut manifest), Ok(before)) = (text.parse::<Table>(), before.parse::<Table>()) else {
        return text.to_owned();
    };
    // Cargo finds what is in `tests` by itself.
    set(&mut manifest, "test", before.get("test"));
    let was_virtual = before.contains_key("workspace") && package_name(&before).is_none();
    for kind in ["package", "project", "workspace", "lib"] {
        if let Some(now) = table_in(&mut manifest, kind) {
            set_all(now, before.get(kind).and_then(Value::as_table), &LEAVE_OUT);
        }
    }
    if was_virtual && package_name(&manifest).is_some() {
        test_members(&mut manifest);
    }
    if let (Some(now), Some(edition)) = (table_in(&mut manifest, "package"), package_key(&before, "edition"))
    {
        now.entry("edition").or_insert_with(|| edition.clone());
    }
    for kind in ["bin", "bench", "example"] {
        let named = |target: &Value, name: &Option<Value>| target.get("name") == name.as_ref();
        let known = before.get(kind).and_then(Value::as_array).cloned().unwrap_or_default();
        let targets = manifest.get_mut(kind).and_then(Value::as_array_mut).into_iter().flatten();
        for target in targets.filter_map(Value::as_table_mut) {
            let name = target.get("name").cloned();
            if let Some(known) = known.iter().find(|known| named(known, &name)) {
                set_all(target, known.as_table(), &LEAVE_OUT);
            }
        }
    }
    restore_profiles(&mut manifest, &before);
    restore_features(&mut manifest, &before);
    remove_own_names(&mut manifest, &before);
    manifest.to_string()
}

fn set(table: &mut Table, key: &str, before: Option<&Value>) {
    match before {
        Some(value) => drop(table.insert(key.to_owned(), value.clone())),
        None => drop(table.remove(key)),
    }
}

fn set_all(table: &mut Table, before: Option<&Table>, keys: &[&str]) {
    keys.iter().for_each(|key| set(table, key, before.and_then(|before| before.get(*key))));
}

fn table_in<'a>(table: &'a mut Table, key: &str) -> Option<&'a mut Table> {
    table.get_mut(key).and_then(Value::as_table_mut)
}

fn package_key<'a>(manifest: &'a Table, key: &str) -> Option<&'a Value> {
    manifest.get("package").and_then(|package| package.get(key))
}

/// In the root of a workspace that is a package itself, only that one is tested unless it says otherwise.
fn test_members(manifest: &mut Table) {
    let Some(workspace) = table_in(manifest, "workspace") else { return };
    let members = workspace.get("members").and_then(Value::as_array).cloned().unwrap_or_default();
    let all = [Value::from(".")].into_iter().chain(members).collect();
    workspace.entry("default-members").or_insert(Value::Array(all));
}

/// Also of profiles for single packages.
fn restore_profiles(manifest: &mut Table, before: &Table) {
    fn restore(now: &mut Table, before: Option<&Table>) {
        set_all(now, before, &SEEN_IN_TESTS);
        for (name, value) in now.iter_mut() {
            let before = before.and_then(|before| before.get(name)).and_then(Value::as_table);
            if let Some(table) = value.as_table_mut() {
                restore(table, before);
            }
        }
        for (name, value) in before.into_iter().flatten().filter(|(_, value)| value.is_table()) {
            now.entry(name).or_insert_with(|| value.clone());
        }
    }
    let before = before.get("profile").and_then(Value::as_table);
    if before.is_some() {
        manifest.entry("profile").or_insert_with(|| Value::Table(Table::new()));
    }
    if let Some(now) = table_in(manifest, "profile") {
        restore(now, before);
    }
}

/// Puts features back that are gone or imply less, as far as there is what they imply.
fn restore_features(manifest: &mut Table, before: &Table) {
    let Some(known) = before.get("features").and_then(Value::as_table) else { return };
    let there: Vec<String> = DEPENDENCIES
        .iter()
        .filter_map(|name| manifest.get(*name).and_then(Value::as_table))
        .flat_map(|dependencies| dependencies.keys().cloned())
        .collect();
    let now = manifest.entry("features").or_insert_with(|| Value::Table(Table::new()));
    let Some(now) = now.as_table_mut() else { return };
    let is_there = |item: &&Value| {
        let item = item.as_str().unwrap_or_default().trim_start_matches("dep:");
        let dependency = item.split(['/', '?']).next().unwrap_or_default();
        (known.contains_key(item)) || there.iter().any(|name| name == dependency)
    };
    for (name, items) in known {
        let feature = now.entry(name).or_insert_with(|| Value::Array(Vec::new()));
        let (Some(feature), Some(items)) = (feature.as_array_mut(), items.as_array()) else { continue };
        if name == "default" {
            // What it takes in besides may leave tests out.
            feature.retain(|item| items.contains(item));
        }
        for item in items.iter().filter(is_there) {
            if !feature.contains(item) {
                feature.push(item.clone());
            }
        }
    }
}

fn remove_own_names(manifest: &mut Table, before: &Table) {
    fn remove(table: &mut Table, before: Option<&Table>) {
        for name in DEPENDENCIES {
            let known = before.and_then(|before| before.get(name)).and_then(Value::as_table);
            if let Some(dependencies) = table_in(table, name) {
                set_all(dependencies, known, &OWN_CRATES);
            }
        }
    }
    remove(manifest, Some(before));
    let platforms = before.get("target").and_then(Value::as_table);
    for (platform, table) in table_in(manifest, "target").into_iter().flat_map(Table::iter_mut) {
        let known = platforms.and_then(|platforms| platforms.get(platform)).and_then(Value::as_table);
        if let Some(table) = table.as_table_mut() {
            remove(table, known);
        }
    }
}

#[cfg(test)]
mod tests {
    use toml::Table;

    use super::with_settings_before;
    use crate::cargo_manifest::changed_settings;

    const USERS: &str = r#"
        [package]
        name = "calc"
        edition = "2021"
        [[test]]
        name = "suite"
        harness = false
        [[bench]]
        name = "speed"
        harness = false
        [features]
        default = ["full"]
        full = ["slow", "dep:judge"]
        slow = []
        [dependencies]
        judge = { version = "1", optional = true }
        [profile.test.package.calc]
        overflow-checks = true
    "#;

    #[test]
    fn tests_are_built_and_run_as_they_were() {
        let agents = r#"
            [package]
            name = "calc"
            build = "other.rs"
            autotests = false
            [[test]]
            name = "suite"
            [[bench]]
            name = "speed"
            bench = false
            [[bin]]
            name = "tool"
            test = false
            [features]
            default = ["quick"]
            full = []
            quick = []
            [dev-dependencies]
            std = { package = "x", path = "x" }
            [target.'cfg(unix)'.dev-dependencies]
            core.path = "x"
            [patch.crates-io]
            rand = { path = "x" }
            [profile.dev]
            debug-assertions = false
            [profile.test.package.calc]
            overflow-checks = false
        "#;
        let restored = with_settings_before(agents, USERS);
        let found = changed_settings(USERS, &restored);
        assert_eq!(
            found,
            [
                // Without the dependency, it cannot be implied.
                "features.full = [\"slow\"]",
                "bin.tool.test = false",
                "package.build = \"other.rs\"",
                "patch.crates-io.rand.path = \"x\"",
            ]
        );
        assert!(restored.parse::<Table>().is_ok_and(|manifest| manifest["features"].get("quick").is_some()));
        assert_eq!(with_settings_before("not toml [", USERS), "not toml [");
        assert_eq!(with_settings_before(agents, "not toml ["), agents);
    }

    #[test]
    fn what_an_agent_adds_stays() {
        let agents = USERS
            .replace("[features]", "[[bin]]\nname = \"calc\"\n[features]\nmore = []")
            .replace("[dependencies]", "[dependencies]\nrand = \"1\"");
        let same = |text: &str| text.parse::<Table>().unwrap();
        assert_eq!(same(&with_settings_before(&agents, USERS)), same(&agents));
    }

    #[test]
    fn members_are_tested_if_the_root_of_a_workspace_becomes_a_package() {
        let members = "[workspace]\nmembers = [\"a\", \"lib/*\"]\n";
        let restored = with_settings_before(&format!("{members}[package]\nname = \"calc\"\n"), members);
        assert!(restored.contains("default-members = [\".\", \"a\", \"lib/*\"]"), "{restored}");
        assert!(!with_settings_before(members, members).contains("default"));
    }
}
