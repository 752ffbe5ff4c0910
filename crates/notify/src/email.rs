//! An e-mail as `sendmail -t` reads it. Nothing in a notification can become a header: its title is one encoded line, and its text comes
//! after the headers.

use autonoe_core::notification::UserNotification;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::text::one_line;

/// Longest line of a header or an encoded body, in bytes.
const LINE: usize = 76;

/// Bytes of text in one encoded word, so that it fits on a line.
const WORD: usize = 42;

/// Characters of a subject.
const MAX_SUBJECT: usize = 200;

/// Addresses must have been checked.
pub fn message(notification: &UserNotification, to: &[String], from: Option<&str>) -> String {
    let UserNotification { id, event, title, text, project_path, run, at, .. } = notification;
    let run = run.map(|run| format!("Run {run} in ")).unwrap_or_default();
    let body = format!("{text}\n\n{run}{project_path}\nEvent {}, {at}, id {id}\n", event.name());
    let mut lines = vec![format!("To: {}", to.join(",\n "))];
    lines.extend(from.map(|from| format!("From: {from}")));
    lines.extend([
        format!("Subject: {}", subject(title)),
        format!("Date: {}", at.strftime("%a, %d %b %Y %H:%M:%S +0000")),
        format!("Message-ID: <{id}@autonoe.invalid>"),
        // Out-of-office replies and the like are not wanted.
        "Auto-Submitted: auto-generated".to_owned(),
        "MIME-Version: 1.0".to_owned(),
        "Content-Type: text/plain; charset=utf-8".to_owned(),
        "Content-Transfer-Encoding: base64".to_owned(),
        String::new(),
        encoded(&body),
    ]);
    // The line ends of the system, which sendmail wants.
    lines.join("\n")
}

fn encoded(text: &str) -> String {
    let text = STANDARD.encode(text);
    let lines = text.as_bytes().chunks(LINE).map(|line| String::from_utf8_lossy(line).into_owned());
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// As it is if it is plain; otherwise as encoded words (RFC 2047).
fn subject(title: &str) -> String {
    let title = one_line(title, MAX_SUBJECT);
    let is_plain = title.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && !title.contains("=?");
    if is_plain && title.len() < LINE - "Subject: ".len() {
        return title;
    }
    let mut words: Vec<String> = vec![String::new()];
    for letter in title.chars() {
        match words.last_mut() {
            Some(word) if word.len() + letter.len_utf8() <= WORD => word.push(letter),
            _ => words.push(letter.to_string()),
        }
    }
    let words = words.iter().map(|word| format!("=?utf-8?B?{}?=", STANDARD.encode(word)));
    words.collect::<Vec<_>>().join("\n ")
}

#[cfg(test)]
mod tests {
    use autonoe_core::notification::{NotificationEvent, NotificationLevel, UserNotification};
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::{LINE, message, subject};

    fn notification(title: &str, text: &str) -> UserNotification {
        UserNotification {
            id: "f00d".to_owned(),
            event: NotificationEvent::Done,
            level: NotificationLevel::Success,
            title: title.to_owned(),
            text: text.to_owned(),
            project: "shop".to_owned(),
            project_path: "/home/ann/shop".to_owned(),
            run: Some(7),
            at: "2026-11-16T02:00:00Z".parse().expect("time"),
        }
    }

    #[test]
    fn a_message_has_its_headers_and_its_text() {
        let to = ["ann@example.com".to_owned(), "bob@example.com".to_owned()];
        let mail = message(&notification("shop: done", "Alles grün."), &to, Some("me@example.com"));
        let (head, body) = mail.split_once("\n\n").expect("a body");
        assert_eq!(
            head.lines().collect::<Vec<_>>(),
            [
                "To: ann@example.com,",
                " bob@example.com",
                "From: me@example.com",
                "Subject: shop: done",
                "Date: Mon, 16 Nov 2026 02:00:00 +0000",
                "Message-ID: <f00d@autonoe.invalid>",
                "Auto-Submitted: auto-generated",
                "MIME-Version: 1.0",
                "Content-Type: text/plain; charset=utf-8",
                "Content-Transfer-Encoding: base64",
            ]
        );
        let text = STANDARD.decode(body.replace('\n', "")).expect("base64");
        let text = String::from_utf8(text).expect("text");
        assert_eq!(
            text,
            "Alles grün.\n\nRun 7 in /home/ann/shop\nEvent done, 2026-11-16T02:00:00Z, id f00d\n"
        );
    }

    #[test]
    fn nothing_in_a_notification_becomes_a_header() {
        let attack = "x\r\nBcc: eve@example.com\n\nhello\u{2028}Cc: eve@example.com";
        let mail = message(&notification(attack, attack), &["ann@example.com".to_owned()], None);
        let (head, body) = mail.split_once("\n\n").expect("a body");
        assert!(!head.to_lowercase().contains("\nbcc") && !head.to_lowercase().contains("\ncc"), "{head}");
        assert!(!body.contains("eve"), "{body}");
        assert!(mail.lines().all(|line| line.len() <= LINE), "{mail}");
    }

    #[test]
    fn a_long_or_foreign_subject_is_encoded_word_by_word() {
        let title = "läuft ".repeat(30);
        let written = subject(&title);
        assert!(written.lines().count() > 2 && written.lines().all(|line| line.len() <= LINE), "{written}");
        let words = written.split("\n ").map(|word| {
            let word = word.strip_prefix("=?utf-8?B?").expect("start").strip_suffix("?=").expect("end");
            String::from_utf8(STANDARD.decode(word).expect("base64")).expect("whole letters")
        });
        assert_eq!(words.collect::<String>(), title.trim());
        assert!(subject("=?utf-8?B?eA==?=").starts_with("=?utf-8?B?PT"), "not read as encoded already");
    }
}
