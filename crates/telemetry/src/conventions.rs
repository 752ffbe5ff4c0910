//! Attribute names: those of the OpenTelemetry semantic conventions for generative AI, and our own where they have none.

pub const OPERATION: &str = "gen_ai.operation.name";
pub const PROVIDER: &str = "gen_ai.provider.name";
pub const MODEL: &str = "gen_ai.request.model";
pub const STREAM: &str = "gen_ai.request.stream";
pub const FIRST_CHUNK: &str = "gen_ai.response.time_to_first_chunk";
pub const WORKFLOW: &str = "gen_ai.workflow.name";
pub const AGENT: &str = "gen_ai.agent.name";
pub const TOOL: &str = "gen_ai.tool.name";
pub const TOOL_TYPE: &str = "gen_ai.tool.type";
pub const TOOL_CALL: &str = "gen_ai.tool.call.id";
pub const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
pub const TOOL_RESULT: &str = "gen_ai.tool.call.result";
pub const INPUT_MESSAGES: &str = "gen_ai.input.messages";
pub const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub const REASONING_TOKENS: &str = "gen_ai.usage.reasoning.output_tokens";
pub const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
pub const CACHE_WRITE_TOKENS: &str = "gen_ai.usage.cache_creation.input_tokens";
pub const TOKEN_TYPE: &str = "gen_ai.token.type";
pub const ERROR: &str = "error.type";

pub const RUN: &str = "autonoe.run";
pub const SESSION: &str = "autonoe.session";
pub const SESSIONS_BEFORE: &str = "autonoe.sessions_before";
pub const INSTRUCTION: &str = "autonoe.instruction";
pub const STEP: &str = "autonoe.step";
pub const OUTCOME: &str = "autonoe.outcome";
pub const EXIT_CODE: &str = "autonoe.exit_code";
pub const ITERATIONS: &str = "autonoe.iterations";
pub const PASSED: &str = "autonoe.deliverables.passed";
pub const TOTAL: &str = "autonoe.deliverables.total";
pub const DENIED_BY: &str = "autonoe.denied_by";
pub const COST: &str = "autonoe.cost_usd";
pub const CUT: &str = "autonoe.content.characters_cut";
pub const MESSAGE: &str = "autonoe.message";
