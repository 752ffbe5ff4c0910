//! Signals to what the agent has not started.

use super::tests::expect;

#[test]
fn signals_to_others_are_denied() {
    expect(
        Some("contained.signal"),
        &[
            "pkill -f 'claude -p'",
            "pkill -f 'autonoe run'",
            "pkill -f '/usr/bin/autonoe'",
            "pkill -f '^claude'",
            "pkill -f 'claude.*verbose'",
            "pkill -f 'output-format stream-json'",
            "killall systemd",
            "pkill init",
            "pkill -P 0",
            "pkill -P 1,0",
            "pkill --parent=1",
            "pkill -O 1",
            "pkill --older 1",
            "pkill -r S",
            "pkill -t pts/0",
            "pkill -9 -u me",
            "pkill -vf x",
            "kill $(pgrep autonoe)",
            "kill $(pgrep -f 'claude -p')",
            "kill -9 `pidof claude`",
            "pgrep autonoe | xargs kill",
            "p=$(pgrep codex); kill $p",
            "for p in $(pgrep autonoe); do kill $p; done",
            "ps aux | grep '[a]utonoe' | awk '{print $2}' | xargs kill",
            "kill $(ps aux | grep claude | awk '{print $2}')",
            "kill $(ps -o ppid= -p $$)",
            "let p=PPID; kill $p",
            "let 'p = PPID + 0'; kill $p",
            "read p <<< $PPID; kill $p",
            "printf -v p %s $PPID; kill $p",
            "((p=PPID)); kill $p",
            "declare -i p=PPID; kill $p",
            "p=PPID; kill $((p))",
            "p=$(echo $PPID); kill -9 $p",
            "a=(1 $PPID); kill \"${a[@]}\"",
            "p=4242; if x; then p=1; fi; kill $p",
        ],
    );
    expect(
        None,
        &[
            "pkill node; pkill -f \"vite\"; kill %1; kill $!; kill $(cat pidfile); kill $(lsof -ti :3000)",
            "pkill -f 'node server.js'; pkill -f 'bash scripts/dev.sh'; pkill -f '/home/autonoe/server.js'; pkill -KILL node",
            "pkill -9 -f vite; pkill -P $$; pkill -P $!; pkill -F pidfile; pkill --signal TERM -x app; pkill -n -f 'sleep 100'",
            "kill $(pgrep -f 'uvicorn app'); pgrep node | xargs kill; ps aux | grep node | awk '{print $2}' | xargs kill",
            "ps aux | grep claude | head; ps -o ppid= -p $$; pgrep -a autonoe; killall -s KILL node",
            "pkill -f \"$APP\"; killall $NAME; pkill -x node*",
            "p=$!; kill $p; pids=(); x & pids+=($!); kill \"${pids[@]}\"",
        ],
    );
}
