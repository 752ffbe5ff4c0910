use autonoe_honesty::{Layer, groups, known_gap, play};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let layer = if a[2] == "landlock" { Layer::landlock().unwrap() } else { Layer::bubblewrap().unwrap() };
    let autonoe = std::path::Path::new(&a[1]).canonicalize().unwrap();
    let jobs: Vec<_> = groups()
        .into_iter()
        .flat_map(|g| g.scenarios.into_iter().map(move |s| (g.name, s)))
        .filter(|(g, s)| {
            a[3..].iter().any(|f| g.contains(f.as_str()) || s.name.contains(f.as_str()))
                && s.runs_on(layer.kind)
        })
        .collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    let Some((g, s)) = jobs.get(i) else { break };
                    let t = std::time::Instant::now();
                    let r = play(s, &autonoe, &layer);
                    let gap = known_gap(&s.name, layer.kind).is_some();
                    let head = match (&r, gap) {
                        (Ok(None), false) => "ok  ",
                        (Ok(None), true) => "GAP CLOSED",
                        (_, true) => "gap ",
                        _ => "WRONG",
                    };
                    println!("{head} {:.1}s [{g}] {}", t.elapsed().as_secs_f32(), s.name);
                    match r {
                        Ok(Some(w)) if !gap => println!(
                            "{}\n----",
                            if std::env::var("FULL").is_ok() {
                                w
                            } else {
                                w.lines()
                                    .filter(|l| {
                                        l.starts_with("conversation")
                                            || l.contains("expected ")
                                            || l.contains("screen shows")
                                            || l.contains("error")
                                            || l.contains("user")
                                            || l.contains("[")
                                    })
                                    .collect::<Vec<_>>()
                                    .join("\n")
                            }
                        ),
                        Err(e) => println!("{e}\n----"),
                        _ => {}
                    }
                }
            });
        }
    });
}
