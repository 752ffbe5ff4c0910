//! Every contract of the design is quoted by a test that covers it.

use std::fs;
use std::path::Path;

/// The contracts with their headings, in the order of the document.
const CONTRACTS: [(&str, &str); 85] = [
    ("ConfigurationLoader", "@pre agentPath は存在するディレクトリ"),
    ("ConfigurationLoader", "@post 返り値の definition は valid"),
    ("ConfigurationLoader", "@throws ConfigurationNotFoundError - agent.json が存在しない"),
    ("ConfigurationLoader", "@throws ConfigurationParseError - JSON パースエラー"),
    ("ConfigurationLoader", "@pre definition は load() の戻り値"),
    ("ConfigurationLoader", "@post valid=true なら errors.length === 0"),
    ("AgentFactory", "@pre definition は validated"),
    ("AgentFactory", "@post 返り値は start() 呼び出し可能な状態"),
    ("AgentFactory", "@throws DependencyResolutionError - 依存解決失敗"),
    ("ValidationResult契約", "不変条件: valid === (errors.length === 0)"),
    ("Lifecycle", "@pre 初回呼び出しのみ許可（再startは禁止）"),
    ("Lifecycle", "@post 全依存コンポーネントが初期化済み"),
    ("Lifecycle", "@post stop() 呼び出し可能な状態"),
    ("Lifecycle", "@throws AlreadyStartedError - 2回目以降の呼び出し"),
    ("Lifecycle", "@pre start() が正常完了している"),
    ("Lifecycle", "@post 全リソースが解放済み"),
    ("Lifecycle", "@post 再度の start() は禁止（インスタンス再利用不可）"),
    ("Loop", "@pre context.iteration === 0"),
    ("Loop", "@post result.success === true または result.error が設定"),
    ("RuntimeContext契約", "不変条件: summaries.length === iteration（ループ終了時）"),
    ("ContextCarry契約", "更新タイミング: 各イテレーション終了時"),
    ("ContextCarry契約", "更新責務: Loop実装"),
    ("SdkBridge", "@pre prompt.length > 0"),
    ("SdkBridge", "@post sessionId は同一セッション内で一貫"),
    ("SdkBridge", "@throws SdkConnectionError - API接続エラー"),
    ("SdkBridge", "@throws SdkRateLimitError - レート制限"),
    ("SdkBridge", "@post query() 未実行なら null"),
    ("セッション管理契約", "options.sessionId を渡す → そのセッションを継続"),
    ("セッション管理契約", "options.sessionId が null/undefined → 新規セッション"),
    ("セッション管理契約", "SDK側でセッション切断 → 新規セッションIDを返す"),
    ("セッション管理契約", "呼び出し側の責務: sessionIdを保持し、次回query()に渡す"),
    ("セッション管理契約", "SdkBridge側の責務: SDK応答からsessionIdを抽出し返す"),
    ("CompletionHandler", "@pre context.iteration > 0"),
    ("CompletionHandler", "@post complete=true なら reason が設定"),
    ("CompletionHandler", "@post 最後のcheck()結果を反映"),
    ("CompletionHandler", "@post isComplete()=true なら空文字でない"),
    ("PromptResolver", "@pre ref が有効な参照（パスまたはC3L）"),
    ("PromptResolver", "@post 返り値は空文字でない（見つからない場合はエラー）"),
    ("PromptResolver", "@throws PromptNotFoundError - プロンプトファイルが存在しない"),
    ("PromptResolver", "@throws PromptParseError - テンプレート構文エラー"),
    ("PromptResolver", "@post 返り値は空文字でない"),
    ("StepChecker", "@pre step.check が定義されている"),
    ("StepChecker", "@post result.passed === true/false"),
    ("StepChecker", "prompt: response全体を使用、追加のLLM呼び出しを行う"),
    ("StepChecker", "action: actionResults のみ参照"),
    ("StepChecker", "keyword: response.messages のテキスト部分のみ参照"),
    ("Retry Policy契約", "retry=true, maxRetries未指定 → デフォルト3"),
    ("Retry Policy契約", "retryCount >= maxRetries → onExhausted で判断"),
    ("Retry Policy契約", "retry時、同一ステップを再実行（プロンプト変更なし）"),
    ("Composite Completion契約", r#"mode="any": 一つでも complete=true なら完了（OR）"#),
    ("Composite Completion契約", r#"mode="all": 全て complete=true で完了（AND）"#),
    ("Composite Completion契約", "評価順序: conditions配列の順序で評価"),
    ("Composite Completion契約", r#"短絡評価: mode="any" で true発見時、以降は評価しない"#),
    ("Composite Completion契約", "@post 各conditionの個別状態を返す"),
    ("Composite Completion契約", "StepCheck.keywords が先に評価される（ステップ遷移に影響）"),
    ("Composite Completion契約", "CompletionConfig.keywords は後に評価される（エージェント完了に影響）"),
    ("Composite Completion契約", "同一キーワードが両方に存在する場合、両方が反応する"),
    ("変数マッピング契約", "変数が未定義 → 置換せずそのまま残す（エラーにしない）"),
    ("変数マッピング契約", "警告ログを出力"),
    ("ステップ遷移契約", "next で指定されたステップは registry.steps に存在すること"),
    ("ステップ遷移契約", "存在しない場合: ConfigurationValidationError"),
    ("ステップ遷移契約", "ループ（A→B→A）は許可するが、訪問回数を記録する"),
    ("ステップ遷移契約", "同一ステップの連続実行（retry除く）が STEP_LOOP_LIMIT を超えた場合、"),
    ("エスカレーション契約", "in_agent: 別のステップにジャンプ"),
    ("エスカレーション契約", "webhook: 外部サービスに通知"),
    ("エスカレーション契約", "log: ログ出力のみ"),
    ("エスカレーション契約", "resume: エスカレーション後、元のステップに戻る"),
    ("エスカレーション契約", "abort: エスカレーション後、エージェント終了"),
    ("エスカレーション契約", "restart: エスカレーション後、最初から再実行"),
    ("SubStep契約", "subSteps を順番に実行"),
    ("SubStep契約", "親ステップの完了: すべての subSteps 完了で完了"),
    ("SubStep契約", "親ステップの失敗: いずれかの subSteps 失敗で失敗"),
    ("SubStep契約", "normal: 通常のプロンプト実行ステップ"),
    ("SubStep契約", "gateway: 分岐/合流ポイント"),
    ("SubStep契約", "subStep: 親ステップの一部として実行"),
    ("RetryPolicy", r#"fallbackStep?: string; // onExhausted="fallback" のとき必須"#),
    ("変数マッピング契約", r#"PromptResolver に渡す時点で "uv-" prefix なし"#),
    ("変数マッピング契約", r#"variables["origin"] を受け取り、{uv-origin} を置換"#),
    ("変数解決の責務", "推奨: A) PromptResolver に統合"),
    ("エラー階層", "code: string"),
    ("エラー階層", "recoverable: boolean"),
    ("状態更新のタイミング", "isComplete() / getReason() は更新後の状態を返す"),
    ("並列実行について", "複数のAgentインスタンスを起動"),
    ("ステップ遷移契約", "LoopError を発生させる"),
    ("ステップ遷移契約", "STEP_LOOP_LIMIT = 10"),
];

/// Collects the doc comments of all tests of this crate, which quote the contracts.
fn collect_comments(directory: &Path, all: &mut String) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_comments(&path, all);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !path.ends_with("contracts.rs")
        {
            let text = fs::read_to_string(&path).unwrap();
            for line in text.lines().filter(|line| line.trim_start().starts_with("///")) {
                all.push_str(line);
                all.push('\n');
            }
        }
    }
}

#[test]
fn every_contract_is_quoted_by_a_test() {
    let mut all = String::new();
    for directory in ["tests", "src"] {
        collect_comments(&Path::new(env!("CARGO_MANIFEST_DIR")).join(directory), &mut all);
    }
    let missing: Vec<String> = CONTRACTS
        .iter()
        .filter(|(_, contract)| !all.contains(contract))
        .map(|(heading, contract)| format!("{heading}: {contract}"))
        .collect();
    assert!(missing.is_empty(), "no test quotes:\n{}", missing.join("\n"));
}
