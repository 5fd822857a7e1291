//! Manifests, man pages, and deltic as a plugin of kubectl.

use document::Value;

use crate::common::{Files, deltic, run};

/// The objects that `deltic install --manifests` prints.
fn manifests(flags: &[&str]) -> Vec<Value> {
    let args = [&["install", "--manifests", "-o", "json"], flags].concat();
    let list: Value = deltic(&args).ended(0).stdout.parse().unwrap();
    list.get("items").as_list().unwrap().to_vec()
}

fn find<'a>(objects: &'a [Value], kind: &str) -> &'a Value {
    let found = objects
        .iter()
        .find(|it| it.get("kind").as_str() == Some(kind));
    found.unwrap_or_else(|| panic!("no {kind}"))
}

#[test]
fn the_manifests_need_no_cluster() {
    let names = deltic(&["install", "--manifests", "-o", "name"])
        .ended(0)
        .stdout;
    let names: Vec<&str> = names.lines().collect();
    assert_eq!(
        names[0],
        "customresourcedefinition/operators.dcontroller.io"
    );
    assert_eq!(names[1], "namespace/deltic-system");
    for name in [
        "serviceaccount/deltic-system/deltic",
        "deployment/deltic-system/deltic",
        "poddisruptionbudget/deltic-system/deltic",
        "service/deltic-system/deltic-metrics",
        "clusterrole/deltic",
        "role/deltic-system/deltic",
    ] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let yaml = deltic(&["install", "--manifests"]).ended(0).stdout;
    assert_eq!(yaml.matches("---\n").count(), names.len() - 1);
}

#[test]
fn the_definition_in_the_manifests_is_the_one_that_is_installed() {
    let definition: Value = deltic(&["crd", "-o", "json"])
        .ended(0)
        .stdout
        .parse()
        .unwrap();
    for flags in [&[][..], &["--aggregate"]] {
        let objects = manifests(flags);
        let printed = find(&objects, "CustomResourceDefinition");
        assert_eq!(printed.get("spec"), definition.get("spec"));
    }
}

#[test]
fn the_namespace_and_the_image_can_be_chosen() {
    let flags = [
        "--namespace",
        "platform",
        "--image",
        "registry.example.com/deltic@sha256:1",
    ];
    for aggregate in [&[][..], &["--aggregate"]] {
        let objects = manifests(&[&flags[..], aggregate].concat());
        let text = objects.iter().map(Value::to_string).collect::<String>();
        assert!(!text.contains("deltic-system"), "{text}");
        assert!(text.contains("\"image\":\"registry.example.com/deltic@sha256:1\""));
        assert_eq!(text.matches("\"image\":").count(), 1);
        let namespace = find(&objects, "Namespace").get("metadata").get("name");
        assert_eq!(namespace.as_str(), Some("platform"));
    }
    let image = format!("\"image\":\"deltic:{}\"", env!("CARGO_PKG_VERSION"));
    assert!(
        find(&manifests(&[]), "Deployment")
            .to_string()
            .contains(&image)
    );
}

#[test]
fn views_in_the_clusters_api_are_a_choice() {
    let plain = find(&manifests(&[]), "Deployment").to_string();
    let views = find(&manifests(&["--aggregate"]), "Deployment").to_string();
    assert!(!plain.contains("--aggregate") && views.contains("\"--aggregate\""));
    let names = deltic(&["install", "--manifests", "--aggregate", "-o", "name"]);
    assert!(
        names
            .stdout
            .contains("service/deltic-system/deltic-views\n")
    );
}

#[test]
fn flags_of_manifests_that_do_not_fit_are_refused() {
    for args in [
        &["install", "--namespace", "x"][..],
        &["install", "--image", "x"],
        &["install", "--aggregate"],
        &["install", "-o", "json"],
        &["install", "--manifests", "--yes"],
        &["install", "--manifests", "--context", "x"],
        &["install", "--manifests", "--force-conflicts"],
        &["install", "--manifests", "--namespace", "Upper"],
        &["install", "--manifests", "--namespace", "-a"],
        &["install", "--manifests", "--namespace", ""],
    ] {
        let run = deltic(args).ended(2);
        assert_eq!(run.stdout, "", "{args:?}");
        assert_ne!(run.stderr, "", "{args:?}");
    }
}

#[test]
fn every_command_has_a_man_page() {
    let files = Files::new("packages-man");
    let listed = files.deltic(&["man", "pages/man1"]).ended(0).stdout;
    let help = deltic(&["--help"]).stdout;
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let commands = commands.lines().take_while(|line| line.starts_with("  "));
    let names: Vec<&str> = commands
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(names.len() > 15, "{names:?}");
    for name in names.into_iter().filter(|name| *name != "help") {
        let page = format!("pages/man1/deltic-{name}.1");
        assert!(listed.contains(&page), "{page}: {listed}");
        let text = std::fs::read_to_string(files.path().join(&page)).unwrap();
        assert!(
            text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"),
            "{text}"
        );
        assert!(text.contains("deltic"), "{text}");
    }
    let text = std::fs::read_to_string(files.path().join("pages/man1/deltic-eval.1")).unwrap();
    assert!(
        text.contains(".SH NOTES AND EXAMPLES\n.nf\nExamples:\n"),
        "{text}"
    );
    assert!(
        text.contains("\n  deltic eval '$.metadata.name' pod.yaml\n"),
        "{text}"
    );
}

#[test]
fn man_pages_cannot_be_written_into_a_file() {
    let files = Files::new("packages-man-file").with("file", "");
    files
        .deltic(&["man", "file/man1"])
        .ended(1)
        .mentioned(&["cannot write to file/man1"]);
}

#[cfg(unix)]
#[test]
fn a_plugin_of_kubectl_names_itself_as_kubectl_does() {
    let files = Files::new("packages-plugin");
    let plugin = files.path().join("kubectl-deltic");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_deltic"), &plugin).unwrap();
    let called = |args: &[&str]| run(std::process::Command::new(&plugin).args(args), b"");
    let help = called(&["--help"]).ended(0).stdout;
    assert!(help.contains("Usage: kubectl deltic "), "{help}");
    let help = called(&["check", "--help"]).ended(0).stdout;
    assert!(help.contains("Usage: kubectl deltic check "), "{help}");
    assert!(
        help.contains("\n  kubectl deltic check operator.yaml\n"),
        "{help}"
    );
    assert!(!help.contains("kubectl kubectl"), "{help}");
    called(&["check", "--nothing"])
        .ended(2)
        .mentioned(&["Usage: kubectl deltic check"]);
    // Under its own name it is as before.
    assert!(
        !deltic(&["check", "--help"])
            .stdout
            .contains("kubectl deltic")
    );
}
