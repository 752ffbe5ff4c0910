//! The file format, against seed 002 §5.2 and against edits by users.

use std::path::Path;

use autonoe_core::deliverable::{DeliverableStatus, NewDeliverable};
use jiff::civil::date;

use super::StatusFile;

const PATH: &str = "/project/.autonoe/status.json";

const SEED_EXAMPLE: &str = r#"{
  "createdAt": "2025-01-08",
  "updatedAt": "2025-01-10",
  "deliverables": [
    {
      "id": "DL-001",
      "description": "User Authentication",
      "acceptanceCriteria": [
        "User can login with email and password",
        "Session persists across page refresh"
      ],
      "passed": false,
      "blocked": false
    },
    {
      "id": "DL-002",
      "description": "Legacy Feature",
      "acceptanceCriteria": [
        "..."
      ],
      "passed": true,
      "blocked": false,
      "deprecatedAt": "2025-01-10"
    }
  ]
}
"#;

fn parse(text: &str) -> Result<StatusFile, autonoe_core::fault::Fault> {
    StatusFile::parse(text, Path::new(PATH))
}

#[test]
fn the_seed_example_is_rewritten_unchanged() {
    assert_eq!(parse(SEED_EXAMPLE).expect("valid").render(), SEED_EXAMPLE);
}

#[test]
fn status_maps_to_passed_and_blocked() {
    let mut file = StatusFile::empty(date(2026, 1, 2));
    let item = NewDeliverable {
        id: "A".into(),
        description: "a".into(),
        acceptance_criteria: vec!["works".into()],
        order: Default::default(),
    };
    file.status.create(vec![item]).expect("valid");
    for (status, passed, blocked) in [
        (DeliverableStatus::Pending, false, false),
        (DeliverableStatus::Passed, true, false),
        (DeliverableStatus::Pending, false, false),
        (DeliverableStatus::Blocked, false, true),
    ] {
        file.status.set_status("A", status).expect("known");
        let json: serde_json::Value = serde_json::from_str(&file.render()).expect("JSON");
        assert_eq!(json["deliverables"][0]["passed"], passed, "{status}");
        assert_eq!(json["deliverables"][0]["blocked"], blocked, "{status}");
        assert_eq!(parse(&file.render()).expect("round trip").status, file.status);
    }
}

#[test]
fn unknown_keys_survive_a_rewrite() {
    let text = SEED_EXAMPLE
        .replace("\"createdAt\"", "\"owner\": \"me\",\n  \"createdAt\"")
        .replace("\"passed\": false", "\"priority\": {\"rank\": 3},\n      \"passed\": false");
    let mut file = parse(&text).expect("valid");
    file.status.set_status("DL-001", DeliverableStatus::Passed).expect("known");
    let json: serde_json::Value = serde_json::from_str(&file.render()).expect("JSON");
    assert_eq!(json["owner"], "me");
    assert_eq!(json["deliverables"][0]["priority"]["rank"], 3);
    assert_eq!(json["deliverables"][0]["passed"], true);
    assert!(json["deliverables"][1].get("priority").is_none());
}

#[test]
fn errors_name_the_file_and_the_position() {
    for (text, wanted) in [
        ("", "line 1"),
        ("{\"createdAt\": \"2025-01-01\",\n  oops", "line 2"),
        ("[]", "line 1"),
        ("{\"updatedAt\": \"2025-01-01\", \"deliverables\": []}", "createdAt"),
        ("{\"createdAt\": \"yesterday\", \"updatedAt\": \"2025-01-01\", \"deliverables\": []}", "createdAt"),
        (
            "{\"createdAt\": \"2025-01-01\", \"updatedAt\": \"2025-01-01\", \"deliverables\": {}}",
            "deliverables",
        ),
        (&SEED_EXAMPLE.replace("\"passed\": true", "\"passed\": \"yes\""), "deliverables[1].passed"),
        (&SEED_EXAMPLE.replace("\"blocked\": false,", "\"blocked\": true,"), "both passed and blocked"),
        (&SEED_EXAMPLE.replace("DL-002", "DL-001"), "\"DL-001\" occurs twice"),
    ] {
        let fault = parse(text).expect_err(wanted);
        assert!(fault.message.contains(PATH), "{}", fault.message);
        assert!(fault.message.contains(wanted), "{} lacks {wanted}", fault.message);
        assert!(!fault.recoverable());
    }
}

#[test]
fn a_newer_format_is_rejected() {
    let text = SEED_EXAMPLE.replacen('{', "{\n  \"version\": 2,", 1);
    let fault = parse(&text).expect_err("newer");
    assert_eq!(fault.code, "status_version");
    assert!(parse(&SEED_EXAMPLE.replacen('{', "{\n  \"version\": 1,", 1)).is_ok());
}

proptest::proptest! {
    #[test]
    fn no_text_panics_the_reader(text in ".{0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn damaging_one_byte_is_never_read_as_an_empty_status(at in 0..SEED_EXAMPLE.len(), byte in 32u8..127) {
        let mut bytes = SEED_EXAMPLE.as_bytes().to_vec();
        bytes[at] = byte;
        if let Ok(text) = String::from_utf8(bytes)
            && let Ok(file) = parse(&text)
        {
            proptest::prop_assert_eq!(file.status.deliverables.len(), 2);
        }
    }
}
