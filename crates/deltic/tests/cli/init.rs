//! `deltic init`: what it writes works.

use crate::common::Files;

/// The commands of a README, from its `sh` blocks.
fn commands(readme: &str) -> Vec<&str> {
    let mut inside = false;
    let mut commands = Vec::new();
    for line in readme.lines() {
        if line.starts_with("```") {
            inside = line == "```sh";
        } else if inside {
            commands.push(line);
        }
    }
    commands
}

#[test]
fn the_commands_of_the_readme_work() {
    let files = Files::new("init");
    let run = files.deltic(&["init", "teams"]).ended(0).complained("");
    assert!(
        run.stdout.contains("teams/operator.test.yaml\n"),
        "{}",
        run.stdout
    );
    let directory = files.path().join("teams");
    let readme = std::fs::read_to_string(directory.join("README.md")).unwrap();
    assert!(readme.starts_with("# teams\n"));
    let commands = commands(&readme);
    assert!(commands.len() >= 5, "{commands:?}");
    for command in commands {
        let run = files.shell("teams", command);
        assert_eq!(run.code, 0, "{command}\n{}{}", run.stdout, run.stderr);
        assert_eq!(run.stderr, "", "{command}");
    }
    let run = files.shell("teams", "deltic test --coverage");
    assert!(
        run.stdout.contains("4 of 4 stages, 2 of 2 outcomes"),
        "{}",
        run.stdout
    );
}

#[test]
fn nothing_is_overwritten() {
    let files = Files::new("init-twice").with("teams/objects.yaml", "mine");
    let run = files.deltic(&["init", "teams"]).ended(2);
    run.printed("")
        .mentioned(&["teams/objects.yaml exists and is not overwritten"]);
    let kept = std::fs::read_dir(files.path().join("teams"))
        .unwrap()
        .count();
    assert_eq!(kept, 1);
}

#[test]
fn the_directory_may_exist_and_be_nested() {
    let files = Files::new("init-nested").with("a/other.txt", "");
    files.deltic(&["init", "a/teams"]).ended(0);
    files.deltic(&["init", "a"]).ended(0);
    files.deltic(&["init"]).ended(0);
    files.deltic(&["test", "a", "my-operator"]).ended(0);
}

#[test]
fn a_valid_name_is_suggested() {
    let files = Files::new("init-suggests");
    for (name, valid) in [("Cost_Report", "cost-report"), ("_a__B.", "a-b")] {
        files
            .deltic(&["init", name])
            .ended(2)
            .mentioned(&[&format!("did you mean {valid}?")]);
        files.deltic(&["init", valid]).ended(0);
    }
}

#[test]
fn the_name_must_be_one_of_an_operator() {
    let files = Files::new("init-name");
    for name in ["Teams", "a_b", "..", "/", "{", "a: b"] {
        files
            .deltic(&["init", name])
            .ended(2)
            .mentioned(&["error[usage]"]);
    }
}
