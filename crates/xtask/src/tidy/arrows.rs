//! The arrows between crates: which may use which, and what the kernel never reaches.
//!
//! Invariant: [`ARROWS`] is the only place where they are declared; a crate that is not in it does
//! not exist. Called by `tidy::run`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, PackageId};

use super::Finding;
use super::tree::Tree;

/// Each crate with those of ours that it may use. An adapter reaches the nouns through the kernel
/// and never another adapter, but for a log of records, which fills the port of the store; only what
/// joins them sees several.
const ARROWS: &[(&str, &[&str])] = &[
    ("epitome-types", &[]),
    ("epitome-kernel", &["epitome-types"]),
    (
        "epitome-admin",
        &[
            "epitome-config",
            "epitome-count",
            "epitome-experiments",
            "epitome-extensions",
            "epitome-extract",
            "epitome-kernel",
            "epitome-plan",
            "epitome-store",
            "epitome-types",
            "epitome-wire",
            "epitome-workspace",
        ],
    ),
    (
        "epitome-config",
        &[
            "epitome-count",
            "epitome-extensions",
            "epitome-extract",
            "epitome-kernel",
            "epitome-lua",
            "epitome-model",
            "epitome-plan",
            "epitome-plugin",
            "epitome-store",
            "epitome-types",
            "epitome-wire",
            "epitome-workspace",
        ],
    ),
    ("epitome-count", &["epitome-kernel"]),
    ("epitome-experiments", &[]),
    (
        "epitome-extensions",
        &["epitome-extract", "epitome-kernel", "epitome-lua", "epitome-plugin", "epitome-types"],
    ),
    ("epitome-extract", &["epitome-kernel"]),
    ("epitome-lua", &["epitome-kernel", "epitome-types"]),
    ("epitome-mcp", &["epitome"]),
    ("epitome-model", &["epitome-kernel", "epitome-wire"]),
    ("epitome-page", &["epitome"]),
    ("epitome-plan", &["epitome-kernel"]),
    ("epitome-plugin", &[]),
    ("epitome-postgres", &["epitome-kernel", "epitome-store"]),
    ("epitome-proxy", &["epitome", "epitome-mcp", "epitome-page", "epitome-types", "epitome-wire"]),
    ("epitome-seal", &[]),
    ("epitome-store", &["epitome-kernel", "epitome-seal"]),
    ("epitome-wire", &["epitome-types"]),
    ("epitome-workspace", &["epitome-kernel"]),
    (
        "epitome-engine",
        &[
            "epitome-admin",
            "epitome-config",
            "epitome-count",
            "epitome-extensions",
            "epitome-extract",
            "epitome-kernel",
            "epitome-lua",
            "epitome-model",
            "epitome-plan",
            "epitome-plugin",
            "epitome-store",
            "epitome-types",
            "epitome-wire",
            "epitome-workspace",
        ],
    ),
    (
        "epitome",
        &[
            "epitome-admin",
            "epitome-config",
            "epitome-count",
            "epitome-engine",
            "epitome-extensions",
            "epitome-extract",
            "epitome-kernel",
            "epitome-lua",
            "epitome-model",
            "epitome-plan",
            "epitome-plugin",
            "epitome-postgres",
            "epitome-store",
            "epitome-types",
            "epitome-wire",
            "epitome-workspace",
        ],
    ),
    ("epitome-lab", &["epitome"]),
    (
        "epitome-cli",
        &[
            "epitome",
            "epitome-count",
            "epitome-experiments",
            "epitome-extract",
            "epitome-kernel",
            "epitome-lab",
            "epitome-mcp",
            "epitome-page",
            "epitome-proxy",
            "epitome-store",
            "epitome-types",
            "epitome-wire",
        ],
    ),
    ("epitome-testkit", &["epitome-kernel", "epitome-plugin"]),
    ("epitome-upstream", &[]),
    ("embed-in-rust", &["epitome"]),
    ("step-by-step", &["epitome"]),
    ("it", &[]),
    ("xtask", &["epitome-extract"]),
];

/// Where native plugins lie, and the one crate of ours that they may use.
const PLUGINS: (&str, &str) = ("plugins/", "epitome-plugin");

/// Who may use any of them.
const EXTENSIONS: &str = "epitome-extensions";

/// What tests of every crate may use besides.
const FOR_TESTS: &[&str] = &["epitome-testkit", "epitome-upstream"];

/// Whose examples are written as its hosts write them, and through what.
const SHOWN_THROUGH: (&str, &str) = ("epitome-engine", "epitome");

/// Packages that a crate may not reach on any road but its tests'.
const ABSENT: &[(&str, &[&str])] = &[(
    "epitome-kernel",
    &["hyper", "mlua", "notify", "reqwest", "rusqlite", "serde_json", "tokio"],
)];

/// The document whose table is the map of the crates.
const MAP: &str = "ARCHITECTURE.md";

/// The workspace's packages and what each depends on.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    /// Our crates: name, and folder relative to the top.
    members: BTreeMap<String, String>,
    /// Who uses whom at run or build time, third parties included, by name.
    uses: BTreeMap<String, BTreeSet<String>>,
    /// Who uses whom in tests, benches and examples only.
    tests_use: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    /// Asks cargo about the workspace of the current folder; gives its top folder too.
    ///
    /// # Errors
    ///
    /// When cargo cannot resolve the workspace.
    pub(crate) fn read() -> anyhow::Result<(Self, PathBuf)> {
        // Without the filter cargo would fetch the dependencies of every other platform as well.
        let filter = ["--filter-platform".to_owned(), "host-tuple".to_owned()];
        let metadata = MetadataCommand::new().other_options(filter).exec()?;
        Ok((Self::of(&metadata), metadata.workspace_root.clone().into_std_path_buf()))
    }

    fn of(metadata: &Metadata) -> Self {
        let names: BTreeMap<&PackageId, &str> =
            metadata.packages.iter().map(|package| (&package.id, package.name.as_str())).collect();
        let mut graph = Self::default();
        for package in metadata.workspace_packages() {
            let folder = package.manifest_path.parent();
            let folder = folder.and_then(|path| path.strip_prefix(&metadata.workspace_root).ok());
            let folder = folder.map(ToString::to_string).unwrap_or_default();
            graph.members.insert(package.name.to_string(), folder);
        }
        for node in metadata.resolve.iter().flat_map(|resolve| &resolve.nodes) {
            for dependency in &node.deps {
                let (user, used) = (names[&node.id].to_owned(), names[&dependency.pkg].to_owned());
                for kind in &dependency.dep_kinds {
                    let edges = match kind.kind {
                        DependencyKind::Development => &mut graph.tests_use,
                        _ => &mut graph.uses,
                    };
                    edges.entry(user.clone()).or_default().insert(used.clone());
                }
            }
        }
        graph
    }

    /// The shortest road from a crate to a package, both ends included.
    fn road<'a>(&'a self, from: &'a str, to: &str) -> Option<Vec<&'a str>> {
        let mut seen = BTreeSet::from([from]);
        let mut roads = VecDeque::from([vec![from]]);
        while let Some(road) = roads.pop_front() {
            let last = *road.last()?;
            if last == to {
                return Some(road);
            }
            for next in self.uses.get(last).into_iter().flatten() {
                if seen.insert(next) {
                    let mut longer = road.clone();
                    longer.push(next);
                    roads.push_back(longer);
                }
            }
        }
        None
    }
}

fn is_plugin(folder: &str) -> bool {
    folder.starts_with(PLUGINS.0)
}

/// Every arrow between our crates is declared, and what must be absent is.
pub(crate) fn check(graph: &Graph) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, folder) in &graph.members {
        let manifest = format!("{folder}/Cargo.toml");
        let is_plugin = is_plugin(folder);
        let last = folder.rsplit('/').next().unwrap_or_default();
        let named = match is_plugin {
            true => name.strip_suffix(last).is_some_and(|start| start.ends_with('-')),
            false => name == last,
        };
        if !named {
            findings
                .push(Finding::in_file(&manifest, format!("`{name}` is not its folder's name")));
        }
        let declared = ARROWS.iter().find(|(declared, _)| declared == name);
        let mut allowed = match declared {
            Some((_, allowed)) => allowed.to_vec(),
            None if is_plugin => vec![PLUGINS.1],
            None => {
                findings.push(Finding::in_file(&manifest, format!("`{name}` is not in ARROWS")));
                continue;
            }
        };
        if name == EXTENSIONS {
            let plugins = graph.members.iter().filter(|(_, folder)| self::is_plugin(folder));
            allowed.extend(plugins.map(|(name, _)| name.as_str()));
        }
        let ours = |edges: &'_ BTreeMap<String, BTreeSet<String>>| -> Vec<String> {
            let used = edges.get(name).into_iter().flatten();
            used.filter(|used| graph.members.contains_key(*used)).cloned().collect()
        };
        let extra = ours(&graph.uses).into_iter().filter(|used| !allowed.contains(&used.as_str()));
        let extra_in_tests = ours(&graph.tests_use)
            .into_iter()
            .filter(|used| !allowed.contains(&used.as_str()))
            .filter(|used| !FOR_TESTS.contains(&used.as_str()))
            .filter(|used| (name.as_str(), used.as_str()) != SHOWN_THROUGH);
        findings.extend(extra.map(|used| {
            Finding::in_file(&manifest, format!("`{name}` may not use `{used}` (see ARROWS)"))
        }));
        findings.extend(extra_in_tests.map(|used| {
            let what = format!("tests of `{name}` may not use `{used}` (see ARROWS)");
            Finding::in_file(&manifest, what)
        }));
    }
    for (name, absent) in ABSENT {
        for road in absent.iter().filter_map(|package| graph.road(name, package)) {
            let what = format!("`{name}` must not reach {}", road.join(" → "));
            let folder = graph.members.get(*name).map_or("", String::as_str);
            findings.push(Finding::in_file(&format!("{folder}/Cargo.toml"), what));
        }
    }
    findings
}

/// The map's table has one row for every crate but plugins, and none for a crate that is not there.
pub(crate) fn check_map(graph: &Graph, tree: &Tree) -> Vec<Finding> {
    let rows = graph.members.iter().filter(|(_, folder)| !is_plugin(folder));
    let mut missing: BTreeSet<&str> = rows.map(|(name, _)| name.as_str()).collect();
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(tree.text(MAP).unwrap_or_default().lines()) {
        let row = line.strip_prefix("| `").and_then(|rest| rest.split_once("` |"));
        if let Some((name, _)) = row
            && !missing.remove(name)
        {
            findings.push(Finding::at(MAP, number, format!("there is no further crate `{name}`")));
        }
    }
    findings.extend(
        missing.iter().map(|name| Finding::in_file(MAP, format!("has no row for `{name}`"))),
    );
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A graph of `(user, used)` pairs; every name that begins with `epitome` is one of ours.
    fn graph(uses: &[(&str, &str)], tests_use: &[(&str, &str)]) -> Graph {
        let mut graph = Graph::default();
        for (pairs, in_tests) in [(uses, false), (tests_use, true)] {
            for (user, used) in pairs {
                for name in [user, used].into_iter().filter(|name| name.starts_with("epitome")) {
                    graph.members.insert((*name).to_owned(), format!("crates/{name}"));
                }
                let edges = if in_tests { &mut graph.tests_use } else { &mut graph.uses };
                edges.entry((*user).to_owned()).or_default().insert((*used).to_owned());
            }
        }
        graph
    }

    fn check_graph(graph: &Graph, expected: &[&str]) {
        let found: Vec<String> = check(graph).iter().map(Finding::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn cargo_tells_the_roads_of_tests_from_the_others() {
        let (graph, _) = Graph::read().unwrap();
        assert_eq!(graph.members["epitome-kernel"], "crates/epitome-kernel");
        assert!(graph.road("epitome-kernel", "serde").is_some());
        assert!(graph.road("epitome-kernel", "proptest").is_none());
        assert!(graph.tests_use["epitome-kernel"].contains("proptest"));
    }

    #[test]
    fn declared_arrows_pass() {
        let uses = [("epitome-kernel", "epitome-types"), ("epitome-store", "epitome-kernel")];
        check_graph(&graph(&uses, &[("epitome-store", "epitome-testkit")]), &[]);
    }

    #[test]
    fn adapters_never_use_each_other() {
        check_graph(
            &graph(&[("epitome-store", "epitome-count")], &[("epitome-wire", "epitome-kernel")]),
            &[
                "crates/epitome-store/Cargo.toml: `epitome-store` may not use `epitome-count` (see \
                 ARROWS)",
                "crates/epitome-wire/Cargo.toml: tests of `epitome-wire` may not use \
                 `epitome-kernel` (see ARROWS)",
            ],
        );
    }

    #[test]
    fn the_testkit_is_for_tests_only() {
        check_graph(
            &graph(&[("epitome-count", "epitome-testkit")], &[]),
            &[
                "crates/epitome-count/Cargo.toml: `epitome-count` may not use `epitome-testkit` (see \
               ARROWS)",
            ],
        );
    }

    #[test]
    fn the_kernel_is_followed_to_the_end_of_every_road_but_its_tests() {
        let uses = [
            ("epitome-kernel", "epitome-types"),
            ("epitome-types", "a"),
            ("a", "serde_json"),
            ("b", "tokio"),
        ];
        check_graph(
            &graph(&uses, &[("epitome-kernel", "b")]),
            &[
                "crates/epitome-kernel/Cargo.toml: `epitome-kernel` must not reach epitome-kernel → \
               epitome-types → a → serde_json",
            ],
        );
    }

    #[test]
    fn a_crate_is_declared_and_named_like_its_folder() {
        let mut graph = graph(&[("epitome-new", "serde")], &[]);
        graph.members.insert("epitome-types".to_owned(), "crates/types".to_owned());
        check_graph(
            &graph,
            &[
                "crates/epitome-new/Cargo.toml: `epitome-new` is not in ARROWS",
                "crates/types/Cargo.toml: `epitome-types` is not its folder's name",
            ],
        );
    }

    #[test]
    fn a_plugin_uses_the_protocol_alone_and_only_the_extensions_use_it() {
        let mut graph = graph(
            &[
                ("epitome-extensions", "epitome-digest-logs"),
                ("epitome-digest-logs", "epitome-plugin"),
                ("epitome-digest-diffs", "epitome-kernel"),
                ("epitome-lab", "epitome-digest-logs"),
            ],
            &[],
        );
        for (name, folder) in [("logs", "plugins/logs"), ("diffs", "plugins/patches")] {
            graph.members.insert(format!("epitome-digest-{name}"), folder.to_owned());
        }
        check_graph(
            &graph,
            &[
                "plugins/patches/Cargo.toml: `epitome-digest-diffs` is not its folder's name",
                "plugins/patches/Cargo.toml: `epitome-digest-diffs` may not use `epitome-kernel` \
                 (see ARROWS)",
                "crates/epitome-lab/Cargo.toml: `epitome-lab` may not use `epitome-digest-logs` \
                 (see ARROWS)",
            ],
        );
        assert_eq!(check_map(&graph, &Tree::of(&[(MAP, "")])).len(), 4);
    }

    #[test]
    fn the_map_shows_each_crate_once() {
        let graph = graph(&[("epitome-kernel", "epitome-types")], &[]);
        let map = "| crate | duty |\n| --- | --- |\n| `epitome-kernel` | pure |\n| `epitome-lua` | \
                   scripts |\n";
        let found: Vec<String> =
            check_map(&graph, &Tree::of(&[(MAP, map)])).iter().map(Finding::to_string).collect();
        assert_eq!(
            found,
            [
                "ARCHITECTURE.md:4: there is no further crate `epitome-lua`",
                "ARCHITECTURE.md: has no row for `epitome-types`",
            ]
        );
    }
}
