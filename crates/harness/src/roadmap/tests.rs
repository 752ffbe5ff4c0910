use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use super::{Roadmap, TaskEdit, TaskId, compare, set_done};

const BACKENDS: [&str; 3] = ["claude", "codex", "gemini"];

const SHOP: &str = "\
# Roadmap: Shop

## Objective
A small shop.
It sells books.

## Constraints
- Max time per task: 45 min
- Max retries per task: 7
- Working directory: ./MyDir
- Use no framework

## Success Criteria
- [ ] a book can be bought
- [x] it builds

## Tasks
- [x] **setup**: Make the repository

### Phase 1: Basics
Words for people.

- [ ] **cart**: Add a cart
  - timeout: 1h30m
  - depends: setup
  - success: a book is in the cart,
    and it stays there
  - cwd: ./Src/Cart
  - cli: codex, Gemini
  - model: gpt-5.2
  - max_retries: 2
  - max_iterations: unlimited
  - stuck_after: 5
  - check: `make test` prints `...12 passed...` within 2m
  - check: `./shop nonsense` exits 2
  - issue: #12
- [ ] **pay**: Pay
  - depends: cart, setup
  - max_time: 4h

  Goal: A book can be paid for.

  With a card:
  ```sh
  # not a heading
  - [ ] **not-a-task**: x
  ```

### Later
- [ ] **mail**: Send mails
  - depends: none
  - ralph: true
  - worktree: yes
  - checks:
    - `make mail`
    - `make lint` exits 0

## Growth Mode
1. Look for slow pages
2. Fix them
";

fn parse(text: &str) -> Roadmap {
    Roadmap::parse(text, &BACKENDS).unwrap_or_else(|error| panic!("{error}"))
}

fn errors(text: &str) -> Vec<String> {
    let error = Roadmap::parse(text, &BACKENDS).expect_err("an error").to_string();
    error.lines().map(str::to_owned).collect()
}

fn with_task(lines: &str) -> String {
    format!("## Tasks\n- [ ] **a**: A\n{lines}")
}

#[test]
fn every_part_of_a_roadmap_is_read() {
    let roadmap = parse(SHOP);
    assert_eq!(
        (roadmap.name.as_str(), roadmap.objective.as_str()),
        ("Shop", "A small shop.\nIt sells books.")
    );
    assert_eq!(roadmap.constraints, ["Use no framework"]);
    let criteria: Vec<(&str, bool)> =
        roadmap.success_criteria.iter().map(|criterion| (criterion.text.as_str(), criterion.done)).collect();
    assert_eq!(criteria, [("a book can be bought", false), ("it builds", true)]);
    assert_eq!(roadmap.phases(), [None, Some("Basics"), Some("Later")]);
    assert_eq!(roadmap.growth, ["Look for slow pages", "Fix them"]);
    let ids: Vec<&str> = roadmap.tasks.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(ids, ["setup", "cart", "pay", "mail"]);

    let cart = roadmap.task("cart").expect("cart");
    assert_eq!((cart.line, cart.done, cart.phase.as_deref()), (23, false, Some("Basics")));
    assert_eq!((cart.goal.as_str(), cart.description.as_str()), ("Add a cart", "Add a cart"));
    assert_eq!(cart.timeout, Duration::from_secs(90 * 60));
    assert_eq!(cart.success_criteria.as_deref(), Some("a book is in the cart,\nand it stays there"));
    assert_eq!(cart.cwd, Path::new("./Src/Cart"), "the case of a path is kept");
    assert_eq!(
        (&cart.cli[..], cart.model.as_deref()),
        (&["codex".into(), "gemini".into()][..], Some("gpt-5.2"))
    );
    assert_eq!((cart.max_retries, cart.max_iterations, cart.stuck_after), (2, None, 5));
    assert_eq!(cart.issue, Some(12));
    let checks: Vec<_> =
        cart.checks.iter().map(|check| (&*check.name, &*check.command, check.exit)).collect();
    assert_eq!(checks, [("cart", "make test", 0), ("cart-2", "./shop nonsense", 2)]);
    assert_eq!(cart.checks[0].output, ["...12 passed..."]);

    let pay = roadmap.task("pay").expect("pay");
    assert_eq!(pay.timeout, Duration::from_secs(4 * 3600));
    let goal = "A book can be paid for.\n\nWith a card:\n  ```sh\n  # not a heading\n  - [ ] **not-a-task**: x\n  ```";
    assert_eq!(pay.goal, goal);
    let mail = roadmap.task("mail").expect("mail");
    assert_eq!((mail.depends.len(), mail.checks.len()), (0, 2));
}

#[test]
fn constraints_apply_to_tasks_that_do_not_say_otherwise() {
    let roadmap = parse(SHOP);
    let mail = roadmap.task("mail").expect("mail");
    assert_eq!((mail.timeout, mail.max_retries), (Duration::from_secs(45 * 60), 7));
    assert_eq!(mail.cwd, Path::new("./MyDir"));
    let late = parse("## Tasks\n- [ ] **a**: A\n## Constraints\n- Timeout: 2h\n- Stuck after: 4\n");
    assert_eq!((late.tasks[0].timeout, late.tasks[0].stuck_after), (Duration::from_secs(7200), 4));
    let plain = parse("## Tasks\n- [ ] **a**: A\n").tasks.remove(0);
    assert_eq!((plain.timeout, plain.max_retries), (Duration::from_secs(30 * 60), 3));
    assert_eq!((plain.cwd.as_path(), plain.max_iterations), (Path::new("./"), Some(30)));
}

#[test]
fn times_have_units_and_a_bare_number_is_minutes() {
    for (text, seconds) in [
        ("30min", 1800),
        ("30 min", 1800),
        ("30", 1800),
        ("1h", 3600),
        ("90s", 90),
        ("4 hours", 14_400),
        ("1h 30m", 5400),
    ] {
        let roadmap = parse(&with_task(&format!("  - timeout: {text}\n")));
        assert_eq!(roadmap.tasks[0].timeout, Duration::from_secs(seconds), "{text}");
    }
    for text in ["soon", "0", "-1h", "1.5h", "h", "1h 5", "5 5", "99999999999999999999d", "31d"] {
        let found = errors(&with_task(&format!("  - timeout: {text}\n")));
        assert_eq!(found, [format!("line 3: '{text}' is not a time; write it like 90s, 30min, 1h or 1h30m")]);
    }
}

#[test]
fn every_error_is_reported_at_once_with_its_line() {
    let text = "\
## Constraints
- Max retires per task: 3
## Tasks
- [ ] **a**: A
  - timout: 1h
  - cli: gemni
  - depends: a, bb
  - stuck_after: 0
  - max_iterations: many
  - cwd: ../x
  - model:
  - model: x
  - check: make
  - a sentence
stray text
* one more
- [?] **b**: B
- [ ] **b**: B
- [ ] c: C
- [ ] **../d**: D
- [ ] **e**:
- [ ] **f**: F
  - timeout: 1h
    of patience
";
    let expected = [
        "line 2: unknown key 'max retires per task'; did you mean 'max retries per task'?",
        "line 5: unknown key 'timout'; did you mean 'timeout'?",
        "line 6: unknown backend 'gemni'; the backends are claude, codex, gemini; did you mean 'gemini'?",
        "line 7: the task depends on itself",
        "line 7: unknown task 'bb' in `depends`; did you mean 'b'?",
        "line 8: '0' is not a valid stuck_after; expected a number from 1 to 1000000",
        "line 9: 'many' is not a valid max_iterations; expected a number from 1 to 1000000, or `unlimited`",
        "line 10: '../x' leads out of the project; write a path below it",
        "line 11: 'model' has no value",
        "line 12: a second 'model' of the same task",
        "line 13: expected a command in backquotes after `check:`",
        "line 14: expected `key: value`; text of a goal must be indented further",
        "line 15: this text belongs to no task; indent it, or begin it with `Goal:`",
        "line 16: expected a task: `- [ ] **id**: what to do`",
        "line 17: expected `[ ]` or `[x]`",
        "line 18: two tasks are called 'b'; the other one is in line 17",
        "line 19: expected a task: `- [ ] **id**: what to do`",
        "line 20: '../d' is not an id: it contains '/'; use letters, digits, `-`, `_` and `.`",
        "line 21: the task 'e' has no description",
        "line 24: the value of 'timeout' must be on one line",
    ];
    assert_eq!(errors(text), expected);
}

#[test]
fn no_problem_hides_another_one() {
    let twice = "## Tasks\n- [ ] **a**: A\n  - depends: b\n- [ ] **b**: B\n  - depends: a\n- [ ] **a**: C\n";
    assert_eq!(
        errors(twice),
        [
            "line 3: these tasks wait for each other: a → b → a",
            "line 6: two tasks are called 'a'; the other one is in line 2"
        ]
    );
    let found = errors("## Tasks\n- [ ] **a**: x\n  - depends: ,\n");
    assert_eq!(
        found,
        ["line 3: ',' is not a valid depends; expected ids with commas between them, or `none`"]
    );
    let found = errors("## Constraints\n- Max retries per task: 0\n## Tasks\n");
    assert_eq!(
        found,
        [
            "line 2: '0' is not a valid max_retries; expected a number from 1 to 1000000, which counts all attempts",
            "line 3: the roadmap has no task; write one below `## Tasks`: `- [ ] **id**: what to do`"
        ]
    );
}

#[test]
fn a_long_circle_is_cut() {
    let task = |number: usize| format!("- [ ] **t{number}**: T\n  - depends: t{}\n", (number + 1) % 10_000);
    let text = format!("## Tasks\n{}", (0..10_000).map(task).collect::<String>());
    let found = errors(&text);
    assert!(found[0].starts_with("line 3: these tasks wait for each other: t0 → t1 → "), "{}", found[0]);
    assert!(found[0].ends_with("→ t19 → … 9981 more"), "{}", found[0]);
}

#[test]
fn tasks_that_would_be_lost_are_errors() {
    for (text, error) in [
        ("# Roadmap: x\n", "line 1: the roadmap has no task; write one below"),
        ("\n## Tasks\n### Phase 1: A\nwords\n", "line 2: the roadmap has no task"),
        ("## Notes\n- [ ] **a**: A\n", "line 2: a task outside of `## Tasks` is never run"),
        ("## Task\n- [ ] **a**: A\n", "line 1: unknown section 'Task'; did you mean 'Tasks'?"),
        ("## Tasks\n  - [ ] **a**: A\n", "line 2: a task must start at the beginning of its line"),
        ("## Tasks\n- [ ] **a**: A\n  - [ ] **b**: B\n", "line 3: a task must start at the beginning"),
        ("## Tasks\n- [ ] **a**: A\n<!-- \n- [ ] **b**: B\n", "line 3: this comment is never closed"),
        ("## Tasks\n- [ ] **a**: A\n  ```\n- [ ] **b**: B\n", "line 3: this block is never closed"),
        (
            "## Tasks\n- [ ] **a**: A\n  ```check\n  $ x\n  ```\n",
            "line 3: write each check of a task as an item",
        ),
        (
            "## Tasks\n- [ ] **a**: A\n\n  Check: `cat b.txt`\n",
            "line 4: write each check of a task as an item",
        ),
        (
            "## Tasks\n- [ ] **a**: A\n\n  Goal: Much.\n  Checks: `cat b.txt`\n",
            "line 5: write each check of a task as an item",
        ),
        ("## Tasks\n- [ ] **a**: A\n## Tasks\n", "line 3: a second section 'Tasks'"),
        (
            "## Tasks\n- [ ] **a**: A\n  - check: `true` exits 999\n",
            "line 3: expected an exit code from 0 to",
        ),
        ("## Notes\n1. [ ] **a**: A\n", "line 2: a task outside of `## Tasks` is never run"),
        ("## Tasks\n  1. [ ] **a**: A\n- [ ] **b**: B\n", "line 2: a task must start at the beginning"),
    ] {
        let found = errors(text);
        assert!(found.iter().any(|line| line.starts_with(error)), "{text}: {found:?}");
    }
    let prose = "## Tasks\n- [ ] **a**: A\n\n  Goal: Much.\n  Check: what others do.\n";
    Roadmap::parse(prose, &[]).expect("no command, so it is a part of the goal");
    // As tasks are often written, but not here: before the first task, after it, and after a goal.
    for line in [
        "-[ ] **a**: A",
        "1. [ ] **a**: A",
        "2) [x] a",
        "-\u{a0}[ ] **a**: A",
        "[ ] **a**: A",
        "\u{2022} [ ] a",
    ] {
        let task = "- [ ] **b**: B\n";
        let goal = format!("{task}\n  Goal: Much.\n");
        for (text, number) in [
            (format!("## Tasks\n{line}\n{task}"), 2),
            (format!("## Tasks\n{task}{line}\n"), 3),
            (format!("## Tasks\n{goal}{line}\n"), 5),
        ] {
            let expected = format!("line {number}: expected a task: `- [ ] **id**: what to do`");
            assert_eq!(errors(&text), [expected], "{text}");
        }
    }
    for (line, done) in [("* [ ] **a**: A", false), ("+ [X] **a**: A", true), ("-\t[ ] **a**: A", false)] {
        let tasks = parse(&format!("## Tasks\nSee [x](y), and 1. [the page](z).\n{line}\n")).tasks;
        assert_eq!((tasks.len(), tasks[0].done), (1, done), "{line}");
    }
    let linked = parse("## Success Criteria\n- [x](y) works\n## Tasks\n- [ ] **a**: See [the page](x)\n");
    assert_eq!(linked.tasks[0].description, "See [the page](x)");
    assert_eq!(linked.success_criteria[0].text, "[x](y) works");
    let commented = parse("## Tasks\n- [ ] **a**: A\n<!-- - [ ] **b**: B -->\n");
    assert_eq!(commented.tasks.len(), 1);
}

#[test]
fn keys_of_other_harnesses_stay_where_they_say_what_is_done_anyway() {
    let text = "  - ralph: true\n  - require_tests: false\n  - goal_validate: no\n  - oscillation_detection: 1\n  - worktree: yes\n  - auto_merge: true\n  - sync_github: false\n";
    assert_eq!(parse(&with_task(text)).tasks.len(), 1);
    for (line, words) in [
        ("ralph: false", "write `max_iterations: 1`"),
        ("completion_promise: COMPLETE", "write `check:` or `success:`"),
        ("require_tests: true", "- check: `make test`"),
        ("test_path: tests", "- check: `make test`"),
        ("goal_threshold: 0.8", "write `check:` or `success:`"),
        ("daemon_url: http://x", "write `check:` or `success:`"),
        ("worktree: false", "all tasks are done in the workspace of the run, apart from your checkout"),
        ("worktree_base: main", "leave it out"),
        ("auto_merge: false", "leave it out"),
        ("sync_github: true", "leave it out"),
    ] {
        let found = errors(&with_task(&format!("  - {line}\n")));
        let key = line.split(':').next().expect("a key");
        assert!(found[0].starts_with(&format!("line 3: '{key}' is not supported: ")), "{found:?}");
        assert!(found[0].contains(words), "{found:?}");
    }
}

#[test]
fn cycles_are_shown_as_a_path() {
    let text = "## Tasks\n- [ ] **a**: A\n  - depends: b\n- [ ] **b**: B\n  - depends: c\n- [ ] **c**: C\n  - depends: a\n- [ ] **d**: D\n  - depends: a\n";
    assert_eq!(errors(text), ["line 3: these tasks wait for each other: a → b → c → a"]);
}

#[test]
fn a_large_roadmap_is_refused_and_a_hostile_one_is_bounded() {
    let large = with_task(&"x".repeat(5 * 1024 * 1024));
    assert_eq!(errors(&large), ["line 1: the roadmap is larger than 4 MiB"]);
    let tasks: String =
        (0..10_001).map(|n| format!("- [ ] **t{n}**: T\n  - depends: unknown{n}\n")).collect();
    let found = errors(&format!("## Tasks\n{tasks}"));
    assert_eq!(found[0], "line 1: the roadmap has more than 10000 tasks");
    assert!(found.last().expect("a line").starts_with("and 9951 more problems"), "{:?}", found.last());
    let key = "k".repeat(1024 * 1024);
    assert!(errors(&with_task(&format!("  - {key}: 1\n")))[0].len() < 200);
}

#[test]
fn a_chain_of_all_tasks_is_no_problem() {
    let tasks: String =
        (1..10_000).map(|n| format!("- [ ] **t{n}**: T\n  - depends: t{}\n", n - 1)).collect();
    assert_eq!(parse(&format!("## Tasks\n- [ ] **t0**: T\n{tasks}")).tasks.len(), 10_000);
}

#[test]
fn a_check_box_is_written_without_touching_another_byte() {
    let windows = SHOP.replace('\n', "\r\n");
    for text in [SHOP.to_owned(), windows, format!("\u{feff}{SHOP}"), SHOP.trim_end().to_owned()] {
        let checked = set_done(&text, "cart", true).expect("checked");
        let changed: Vec<usize> =
            (0..text.len()).filter(|place| text.as_bytes()[*place] != checked.as_bytes()[*place]).collect();
        assert_eq!((checked.len(), changed.len()), (text.len(), 1));
        assert!(parse(&checked).task("cart").expect("cart").done);
        assert_eq!(set_done(&checked, "cart", false).expect("as before"), text);
        assert_eq!(set_done(&text, "setup", true).expect("done already"), text);
        set_done(&text, "not-a-task", true).expect_err("it is an example in a block");
    }
    set_done("## Tasks\n- [ ] **a**: A\n- [ ] **a**: B\n", "a", true).expect_err("two");
}

#[test]
fn edits_are_taken_over_for_tasks_that_have_not_begun() {
    let old =
        parse("## Tasks\n- [x] **a**: A\n- [ ] **b**: B\n- [ ] **c**: C\n- [ ] **d**: D\n- [ ] **e**: E\n");
    let new = parse(
        "## Tasks\n- [ ] **a**: A\n- [ ] **b**: other\n- [ ] **c**: C\n  - timeout: 1h\n  - depends: f\n- [ ] **f**: F\n",
    );
    let begun: HashSet<TaskId> = ["a", "b", "d"].map(TaskId::new).into();
    let edit = compare(&old, &new, &begun);
    let id = TaskId::new;
    let taken = [
        TaskEdit::Changed(id("c"), vec!["depends", "timeout"]),
        TaskEdit::Added(id("f")),
        TaskEdit::Removed(id("e")),
    ];
    assert_eq!(edit.taken, taken);
    assert_eq!(edit.refused, [TaskEdit::Changed(id("b"), vec!["description"]), TaskEdit::Removed(id("d"))]);
    let tasks: Vec<_> =
        edit.roadmap.tasks.iter().map(|task| (task.id.as_str(), &*task.description)).collect();
    assert_eq!(tasks, [("a", "A"), ("b", "B"), ("c", "C"), ("d", "D"), ("f", "F")]);
    assert!(edit.roadmap.tasks[0].done, "a box that the run has checked stays checked");
    assert_eq!(edit.refused[0].to_string(), "description of b changed");
}

#[test]
fn the_prompt_has_goal_context_and_success_criteria() {
    let roadmap = parse(SHOP);
    let cart = roadmap.task("cart").expect("cart");
    let context = roadmap.context(cart, |id| (id.as_str() == "setup").then(|| "y".repeat(3000)));
    assert!(context.starts_with(
        "Project: Shop\nObjective: A small shop.\nIt sells books.\nConstraint: Use no framework"
    ));
    assert!(context.ends_with(&format!("## Previous Task Outputs:\n### setup\n{}…", "y".repeat(2000))));
    assert_eq!(
        cart.prompt(Some("Project: Shop")),
        "## Goal\nAdd a cart\n\n## Context\nProject: Shop\n\n## Success Criteria\na book is in the cart,\nand it stays there"
    );
    assert_eq!(roadmap.task("setup").expect("setup").prompt(None), "## Goal\nMake the repository");
}
