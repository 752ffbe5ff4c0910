use std::time::Duration;

use super::{MAX_CHECKS, read_spec, without_checks};

#[test]
fn a_block_contains_commands_with_output_and_exit_code() {
    let spec = "# Calc\n\n## Adding\n\n```check ADD-001 time=30s protect=tests/**,helper.sh criteria=1,2\n\
                $ ./calc add 2 3\n5\n\n$ ./calc add two 3\ntwo is not a number\n? 2\n```\n";
    let checks = read_spec(spec).expect("valid");
    let [first, second] = checks.as_slice() else { panic!("two: {checks:?}") };
    assert_eq!((first.name.as_str(), first.command.as_str(), first.exit), ("adding", "./calc add 2 3", 0));
    assert_eq!(first.output, ["5"]);
    assert_eq!(first.deliverable.as_deref(), Some("ADD-001"));
    assert_eq!(first.criteria, [1, 2]);
    assert_eq!(first.time_limit, Duration::from_secs(30));
    assert_eq!(first.protect, ["tests/**", "helper.sh"]);
    assert_eq!((second.name.as_str(), second.exit), ("adding-2", 2));
    assert_eq!(second.output, ["two is not a number"]);
}

#[test]
fn a_list_item_is_a_check() {
    let spec = "## Version\n- Check: `./calc --version` prints `calc 1.0`\n* **check:** `sh -c 'exit 3'` exits with 3 within 5s for CLI-001.\n";
    let checks = read_spec(spec).expect("valid");
    let [first, second] = checks.as_slice() else { panic!("two: {checks:?}") };
    assert_eq!(
        (first.command.as_str(), first.output.as_slice()),
        ("./calc --version", &["calc 1.0".to_owned()][..])
    );
    assert_eq!((second.exit, second.deliverable.as_deref()), (3, Some("CLI-001")));
    assert_eq!(second.time_limit, Duration::from_secs(5));
}

#[test]
fn other_blocks_and_items_are_not_checks() {
    let spec = "- A list item\n- checked: no\nCheck: see below\n```check.sh\nx\n```\n```checklist\nx\n```\n```sh title=check\nx\n```\n```sh title=\"a check\"\nx\n```\n```checkstyle\n```\n```src/check.rs\n```\n````\n```checks\n````\n```sh\n$ ./calc\n- check: `x`\n```\n````\n```check\n$ x\n```\n````\n";
    assert_eq!(read_spec(spec), Ok(Vec::new()));
}

#[test]
fn errors_name_the_line() {
    for (spec, words) in [
        ("\n```check\n```\n", "line 2: the check has no command"),
        ("```check\n5\n```\n", "line 2: a check must start with a command"),
        ("```check\n$ x\n", "line 1: the check is never closed"),
        ("```check time=soon\n$ x\n```\n", "line 1: 'soon' is not a duration"),
        ("```check tme=3s\n$ x\n```\n", "line 1: unknown check option 'tme'"),
        ("```check criteria=0\n$ x\n```\n", "line 1: '0' is not a list of criterion numbers"),
        ("```check protect=a,/etc\n$ x\n```\n", "line 1: `protect` has the absolute path '/etc'"),
        ("```check A B\n$ x\n```\n", "line 1: unexpected word 'B'"),
        ("```check time=0s\n$ x\n```\n", "line 1: the time limit of the check is zero"),
        ("\n```check A name=a name=b\n$ x\n```\n", "line 2: 'name=' is there twice"),
        ("```check criteria=1 A criteria=2\n$ x\n```\n", "line 1: 'criteria=' is there twice"),
        ("```check time=1s time=2s\n$ x\n```\n", "line 1: 'time=' is there twice"),
        ("```check network=true\n$ x\n```\n", "line 1: 'network' takes no value"),
        ("```check\n$ x\n? many\n```\n", "line 3: expected an exit code from 0 to 255 after `?`"),
        ("```check\n$ x\n? 256\n```\n", "line 3: expected an exit code from 0 to 255"),
        ("```check\n$ x\n? -1\n```\n", "line 3: expected an exit code from 0 to 255"),
        ("```check\n$ x\n? 1\n$ y\n? 1\n? 1\n```\n", "line 6: a second exit code"),
        ("```check\n$ x\n$ \n5\n```\n", "line 3: there is no command after `$ `"),
        ("- check: `x` within 0s\n", "line 1: the time limit of the check is zero"),
        ("- check: `x` exits 1 exits 2\n", "line 1: 'exits' is there twice"),
        ("> ```check\n> $ x\n\n> more\n", "line 1: the check is never closed"),
        ("```sh\nx\n\n```check\n$ x\n```\n", "line 4: this check is in the block that line 1 opens"),
        ("~~~sh\nx\n\n```check\n$ x\n```\n", "line 1: this block is never closed, and a check below"),
        ("> ~~~sh\n> ```check\n\nx\n", "line 1: this block is never closed, and a check below"),
        ("\n<!-- later\n- check: `x`\n", "line 2: this comment is never closed, and a check below"),
        ("```check name=`x`\n$ x\n```\n", "line 1: a check cannot have a backquote after its fence"),
        (
            "\n```checks A-1\n$ x\n```\n",
            "line 2: 'checks A-1' after the fence does not make this block a check",
        ),
        ("```check:A-1\n$ x\n```\n", "write `check` and then the deliverable, as in ```check ADD-001"),
        ("~~~{check A-1}\n$ x\n~~~\n", "line 1: '{check A-1}' after"),
        ("- a\n\n  ``` {.check #a}\n  $ x\n  ```\n", "line 3: '{.check #a}' after"),
        ("```sh check\n$ x\n```\n", "line 1: 'sh check' after"),
        ("```check{A-1}\n$ x\n```\n", "line 1: 'check{A-1}' after"),
        ("\n```check-A-1\n$ x\n```\n", "line 2: 'check-A-1' after"),
        ("```[check] A-1\n$ x\n```\n", "line 1: '[check] A-1' after"),
        ("```sh,check A-1\n$ x\n```\n", "line 1: 'sh,check A-1' after"),
        ("```sh,ignore,check A-1\n$ x\n```\n", "line 1: 'sh,ignore,check A-1' after"),
        ("```sh {.check #A-1}\n$ x\n```\n", "line 1: 'sh {.check #A-1}' after"),
        ("```Check_A-1\n$ x\n```\n", "line 1: 'Check_A-1' after"),
        ("```checkA-1\n$ x\n```\n", "line 1: 'checkA-1' after"),
        ("```check/A-1\n$ x\n```\n", "line 1: 'check/A-1' after"),
        ("```check.A-1\n$ x\n```\n", "line 1: 'check.A-1' after"),
        ("```check=A-1\n$ x\n```\n", "line 1: 'check=A-1' after"),
        ("~~~\"check\" A-1\n$ x\n~~~\n", "line 1: '\"check\" A-1' after"),
        ("~~~**check** A-1\n$ x\n~~~\n", "line 1: '**check** A-1' after"),
        ("# A\n\nCheck: `x` prints `5`\n", "line 3: this is not a check, since it is not an item of a list"),
        ("- check: ./x\n", "line 1: expected a command in backquotes"),
        ("- check: `x` shows `y`\n", "line 1: unknown word 'shows'"),
    ] {
        let error = read_spec(spec).expect_err(spec).to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn names_are_unique_even_if_the_user_chooses_some() {
    let spec = "## A\n- check: `1`\n```check name=a-2\n$ 2\n```\n- check: `3`\n- check: `4`\n```check name=a\n$ 5\n```\n";
    let names: Vec<String> = read_spec(spec).expect("valid").into_iter().map(|check| check.name).collect();
    assert_eq!(names, ["a", "a-2", "a-3", "a-4", "a-5"]);
}

#[test]
fn too_many_checks_are_rejected_with_the_limit() {
    let spec = |count: usize| format!("# Spec\n{}", "- check: `true`\n".repeat(count));
    let most = read_spec(&spec(MAX_CHECKS)).expect("the maximum number of checks");
    assert_eq!(most.last().map(|check| check.name.as_str()), Some("spec-10000"));
    let error = read_spec(&spec(40_000)).expect_err("too many").to_string();
    assert!(error.contains("line 10002") && error.contains("at most 10000 checks"), "{error}");
    let block = format!("```check\n{}```\n", "$ true\n".repeat(40_000));
    assert!(read_spec(&block).expect_err("too many").to_string().contains("at most 10000 checks"));
}

#[test]
fn a_command_can_have_a_here_document_and_several_lines() {
    let spec = "```check A\n$ ./up <<EOF\nhello\n$ world\nEOF\nHELLO\n$ echo a \\\n  | ./up\nA\n$ echo $((1<<n)) <<< x\n2\n```\n";
    let checks = read_spec(spec).expect("valid");
    let commands: Vec<(&str, &str)> =
        checks.iter().map(|check| (check.command.as_str(), check.output[0].as_str())).collect();
    let expected = [
        ("./up <<EOF\nhello\n$ world\nEOF", "HELLO"),
        ("echo a \\\n  | ./up", "A"),
        ("echo $((1<<n)) <<< x", "2"),
    ];
    assert_eq!(commands, expected);
    let error = read_spec("```check A\n$ ./up <<EOF\nhello\n```\n").expect_err("unfinished");
    assert!(error.to_string().contains("not finished"), "{error}");
}

#[test]
fn a_command_ends_where_the_shell_ends_it() {
    let nested = "out=$(./up <<'EOF'\nit's\nEOF\n) && test \"$out\" = \"IT'S\"";
    let quoted = "printf '%s\n' 'a\n? 2' \\\n  b";
    let grouped = "(\n  cd a # don't (\n  ./up\n)";
    let spec = format!("```check A\n$ {nested}\n$ {quoted}\na\n$ {grouped}\nA\n```\n");
    assert_eq!(
        commands(&spec),
        [format!("{nested} []"), format!("{quoted} [\"a\"]"), format!("{grouped} [\"A\"]")]
    );
    let error = read_spec("```check A\n$ x=$(cat <<EOF\na\nEOF\n```\n").expect_err("unfinished");
    assert!(error.to_string().contains("not finished"), "{error}");
}

#[test]
fn no_here_document_begins_in_a_quote_or_a_comment() {
    let spec = "```check A\n$ grep '<<EOF' a\n1\n$ ./calc # as <<EOF\n2\n$ printf 'a\n<<EOF'\n3\n$ ./calc # \\\n4\n```\n";
    assert_eq!(
        commands(spec),
        [
            "grep '<<EOF' a [\"1\"]",
            "./calc # as <<EOF [\"2\"]",
            "printf 'a\n<<EOF' [\"3\"]",
            "./calc # \\ [\"4\"]"
        ]
    );
    let two = "cat <<A - <<B \\\n  | sort\n1\nA\n2\nB";
    assert_eq!(commands(&format!("```check A\n$ {two}\n5\n```\n")), [format!("{two} [\"5\"]")]);
}

#[test]
fn code_that_is_indented_contains_no_check() {
    for spec in [
        "Write:\n\n    Check: `x` prints `5`\n",
        "    Check: `x` prints `5`\n",
        "# A\n    - check: `x` prints `5`\n\n    ```check\n    $ x\n    ```\n",
        "\tCheck: `x` prints `5`\n\n\tCheck: `y`\n",
        "> Write:\n>\n>     Check: `x` prints `5`\n",
        "- a list\n\nText.\n\n    Check: `x` prints `5`\n",
    ] {
        assert_eq!(read_spec(spec), Ok(Vec::new()), "{spec}");
    }
    // What continues a paragraph is not code, and in a list columns do not count.
    for spec in ["Text\n    Check: `x` prints `5`\n", "- a\n\n      Check: `x` prints `5`\n"] {
        assert!(read_spec(spec).is_err(), "{spec}");
    }
    assert_eq!(commands("- a\n\n        - check: `x` prints `5`\n"), [r#"x ["5"]"#]);
}

fn commands(spec: &str) -> Vec<String> {
    let checks = read_spec(spec).unwrap_or_else(|error| panic!("{error} in {spec}"));
    checks.into_iter().map(|check| format!("{} {:?}", check.command, check.output)).collect()
}

#[test]
fn checks_are_found_wherever_a_reader_of_markdown_sees_them() {
    for spec in [
        "> ```check\n> $ x\n> 5\n> ```\n",
        "> > ```check\n> >$ x\n>> 5\n> > ```\n",
        "1. First\n\n   ```check\n   $ x\n   5\n   ```\n",
        "- ```check\n  $ x\n  5\n  ```\n",
        "-\t```check\n\t$\tx\n\t5\n\t```\n",
        "> - ~~~check\n>   $ x\n>   5\n>   ~~~~\n",
        "<details>\n<summary>Checks</summary>\n\n```check\n$ x\n5\n```\n</details>\n",
        "<details>\n```check\n$ x\n5\n```\n</details>\n",
        "``` Check\r\n$ x\r\n5\r\n```\r\n",
        "\u{feff}```CHECK\n$ x\n5\n```\n",
        "```one``` two\n\n```check\n$ x\n5\n```\n",
        "Text about `<!--`.\n```check\n$ x\n5\n```\n",
        "1. Check: `x` prints `5`\n",
        "> * [ ] __Check__: `x` prints `5`\n",
        "- nested\n    + check: `x` prints `5`\n",
    ] {
        assert_eq!(commands(spec), [r#"x ["5"]"#], "{spec}");
    }
}

#[test]
fn a_comment_contains_no_check() {
    let spec = "<!-- later:\n```check\n$ x\n```\n- check: `x`\n-->\n\n<!-- - check: `x` -->\n> <!--\n> ```check\n> $ x\n> ```\n> -->\n\n```check\n$ y\n<!--\n```\n";
    assert_eq!(commands(spec), [r#"y ["<!--"]"#]);
}

#[test]
fn a_backslash_makes_an_output_line_of_what_looks_like_a_command() {
    let spec = "```check\n$ ./price\n\\$ 5.00\n\\? 2\n\\\\$ 1\n\\n\n$5\n? 3\n```\n";
    let checks = read_spec(spec).expect("valid");
    let [check] = checks.as_slice() else { panic!("one: {checks:?}") };
    assert_eq!(check.output, ["$ 5.00", "? 2", "\\$ 1", "\\n", "$5"]);
    assert_eq!(check.exit, 3);
}

#[test]
fn the_indentation_of_a_block_is_not_part_of_a_here_document() {
    let spec = "- Reads:\n  ```check\n  $ ./up <<EOF\n    deep\n  EOF\n    DEEP\n  ```\n";
    assert_eq!(commands(spec), ["./up <<EOF\n  deep\nEOF [\"DEEP\"]"]);
}

#[test]
fn checks_are_not_part_of_what_is_planned() {
    let spec =
        "# Calc\n\nIt adds.\n\n```check A\n$ calc 2 3\n5\n```\n\n- check: `make` exits 0\n\nIt subtracts.\n";
    let planned = without_checks(spec).expect("planned");
    assert_eq!(planned, "# Calc\nIt adds.\nIt subtracts.");
    let other = spec.replace("calc 2 3", "calc 1 4").replace("It adds.\n", "It adds.  \n\n");
    assert_eq!(without_checks(&other).expect("planned"), planned);
    assert_ne!(without_checks(&spec.replace("adds", "multiplies")).expect("planned"), planned);
}

#[test]
fn an_item_that_is_nearly_a_check_is_refused_with_its_line() {
    for spec in [
        "- a\n- Check `./calc` prints `5`\n",
        "\n1. Checks: `./calc`\n",
        "- Check: `x`\n> - Check `x` exits 2\n",
    ] {
        let error = read_spec(spec).expect_err(spec).to_string();
        assert!(error.contains("line 2: this looks like a check and is not one"), "{error}");
    }
    // A paragraph, a comment and a block may say so.
    let spec = "Check `x` prints `5`\n<!--\n- Checks: `x`\n-->\n```\n- Check `x` prints `5`\n```\n";
    assert_eq!(read_spec(spec), Ok(Vec::new()));
}
