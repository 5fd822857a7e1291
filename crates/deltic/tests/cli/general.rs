//! Help, colours, exit codes and pipes, which all commands share.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use crate::common::{DOUBLE, Files, command, deltic, foo, run};

#[test]
fn the_version_is_that_of_the_package() {
    let expect = format!("deltic {}\n", env!("CARGO_PKG_VERSION"));
    deltic(&["--version"]).ended(0).printed(&expect);
    deltic(&["version"]).ended(0).printed(&expect);
    let json = deltic(&["version", "-o", "json"]).ended(0).stdout;
    let json: document::Value = json.parse().unwrap();
    assert_eq!(
        json.get("version").as_str(),
        Some(env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn every_command_has_help_with_an_example() {
    for name in [
        "eval",
        "replay",
        "render",
        "patch",
        "check",
        "explain",
        "graph",
        "test",
        "init",
        "schema",
        "version",
        "completion",
    ] {
        let help = deltic(&[name, "--help"]).ended(0).stdout;
        assert!(help.contains("Example"), "{help}");
        assert!(help.contains("deltic "), "{help}");
        assert!(deltic(&["--help"]).stdout.contains(name));
        assert_eq!(deltic(&["help", name]).ended(0).stdout, help);
    }
}

#[test]
fn bad_usage_ends_with_2() {
    for args in [
        &[][..],
        &["evla"],
        &["eval"],
        &["eval", "1", "--jsonl"],
        &["eval", "--jsonl", "-f", "x.yaml"],
        &["eval", "1", "--now", "yesterday"],
        &["eval", "1", "--seed", "x"],
        &["eval", "1", "-o", "xml"],
        &["eval", "1", "--color", "green"],
        &["eval", "1", "-f", "-", "-f", "-"],
        &["replay"],
        &["replay", "-f", "-"],
        &["replay", "-f", "-", "-"],
        &["replay", "-f", "x.yaml", "--max-documents", "-1"],
        &["render"],
        &["patch"],
        &["patch", "x.yaml"],
        &["patch", "-f", "-"],
        &["patch", "-f", "x.yaml", "-o", "json", "--diff"],
        &["patch", "-f", "x.yaml", "--jsonl"],
        &["patch", "--jsonl", "--var", "a=1"],
        &["patch", "-f", "x.yaml", "--var", "a"],
        &["check"],
        &["explain"],
        &["graph"],
        &["graph", "x.yaml", "-o", "png"],
        &["test", "--watch", "--update"],
        &["test", "-o", "junit", "--coverage"],
        &["schema", "pod"],
        &["completion", "tcl"],
    ] {
        let run = deltic(args).ended(2);
        assert_eq!(run.stdout, "");
        assert_ne!(run.stderr, "");
    }
}

#[test]
fn a_command_is_suggested_by_its_meaning() {
    for (name, suggestion) in [
        ("lint", "deltic check"),
        ("validate", "deltic check"),
        ("apply", "kubectl apply -f"),
        ("apply", "deltic install"),
        ("template", "deltic render"),
        ("chekc", "'check'"),
    ] {
        deltic(&[name]).ended(2).mentioned(&["tip:", suggestion]);
    }
}

#[cfg(unix)]
#[test]
fn help_fits_the_width_of_the_terminal() {
    for width in ["60", "100"] {
        let mut command = command();
        command.args(["render", "--help"]).env("COLUMNS", width);
        let help = run(&mut command, b"").ended(0).stdout;
        let (options, _) = help.split_once("Examples:").unwrap();
        let width: usize = width.parse().unwrap();
        for line in options.lines() {
            // Names of options and their values are not split.
            let text = line.split_whitespace().count() > 4;
            assert!(!text || line.chars().count() <= width, "{line}");
        }
    }
}

#[test]
fn plans_fit_the_width_of_the_terminal() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let plan = |columns: Option<&str>| {
        let mut command = command();
        command.args(["explain", "-R", examples]);
        command.envs(columns.map(|columns| ("COLUMNS", columns)));
        run(&mut command, b"").ended(0).stdout
    };
    let narrow = plan(Some("80"));
    for line in narrow.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let letters = |text: &str| text.replace(char::is_whitespace, "");
    assert_eq!(letters(&narrow), letters(&plan(None)));
}

#[test]
fn completions_name_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let script = deltic(&["completion", shell]).ended(0).stdout;
        for word in ["replay", "patch", "diff", "jsonl"] {
            assert!(script.contains(word), "{word} for {shell}");
        }
    }
}

#[test]
fn colours_are_used_only_when_they_are_wanted() {
    let colored = |args: &[&str], no_color: Option<&str>| {
        let mut command = command();
        command.args(["eval", "{\"@x\": 1}"]).args(args);
        if let Some(value) = no_color {
            command.env("NO_COLOR", value);
        }
        run(&mut command, b"").ended(2).stderr.contains('\x1b')
    };
    // The output is not a terminal.
    assert!(!colored(&[], None));
    assert!(!colored(&["--color", "auto"], None));
    assert!(!colored(&["--color", "never"], None));
    assert!(colored(&["--color", "always"], None));
    // The command line wins over the environment.
    assert!(colored(&["--color", "always"], Some("1")));
}

#[test]
fn colours_go_to_events_and_errors_and_usage_as_well() {
    let files = Files::new("colours").with("operator.yaml", DOUBLE);
    let events = foo("ADDED", "a", "1") + &foo("ADDED", "b", "null");
    let run = files
        .deltic_on(events, &["replay", "-f", "operator.yaml", "--color=always"])
        .ended(1);
    assert!(run.stdout.contains("\x1b[32mADDED"), "{}", run.stdout);
    assert!(
        run.stderr.contains("\x1b[1;91merror[type]"),
        "{}",
        run.stderr
    );
    let usage = deltic(&["eval", "--color=always"]).ended(2);
    assert!(usage.stderr.contains('\x1b'), "{}", usage.stderr);
}

#[test]
fn a_reader_that_closes_the_pipe_is_no_error() {
    let files = Files::new("broken-pipe").with("operator.yaml", DOUBLE);
    for args in [
        &["eval", "--jsonl"][..],
        &["replay", "-f", "operator.yaml", "-o", "jsonl"],
        &["replay", "-f", "operator.yaml", "-o", "yaml"],
    ] {
        let mut child = files
            .command()
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let writer = std::thread::spawn(move || {
            let mut n = 0;
            loop {
                let line = if n % 2 == 0 { 1 } else { 2 };
                let event = foo("MODIFIED", "a", &line.to_string());
                let line = format!("{{\"expr\":{n},{}\n", &event[1..]);
                if stdin.write_all(line.as_bytes()).is_err() {
                    return;
                }
                n += 1;
            }
        });
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        drop(stdout);
        let status = child.wait().unwrap();
        writer.join().unwrap();
        let mut complaints = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut complaints)
            .unwrap();
        assert_eq!(complaints, "", "{args:?}");
        assert_eq!(status.code(), Some(0), "{args:?}");
        assert_ne!(line, "", "{args:?}");
    }
}

#[test]
fn help_into_a_closed_pipe_is_no_panic() {
    let mut child = command()
        .arg("--help")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"));
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = command()
        .args(["eval", "1"])
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(
        complaint.starts_with("error: cannot write the output"),
        "{complaint}"
    );
}

/// With `pipefail` a failure must not look like a success, also if nobody reads the output.
#[test]
fn without_a_reader_a_failure_stays_a_failure() {
    let bad = b"apiVersion: dcontroller.io/v1alpha1\nkind: Operator\nmetadata: {name: o}\n";
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut check = command();
    check.args(["check", "-"]).stdin(Stdio::piped());
    check.stdout(writer.try_clone().unwrap()).stderr(writer);
    let mut child = check.spawn().unwrap();
    // Drops the writers of this process.
    drop(check);
    // The command may end before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(bad);
    let code = child.wait().unwrap().code();
    assert!(matches!(code, Some(2 | 141)), "{code:?}");
}
