//! What a policy in Lua costs: one `plan` over 400 messages, beside one pass over the JSON of such a
//! request, and the smallest call.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use epitome_kernel::{Policy, PolicyChain, TokenCounter};
use epitome_lua::{FoundPolicy, LuaLimits, PolicyEngine, PolicySource};
use epitome_testkit::FixedCounter;
use epitome_types::hook::*;
use epitome_types::{CompactionCause, Role, Speaker};
use serde::de::IgnoredAny;
use serde_json::{Map, json};

/// Looks at every message and drops the old tool results.
const PLAN: &[(&str, &str)] = &[(
    "policy.lua",
    "--- @api 2
return {
  budgets = function(job) return { soft = 1000 } end,
  plan = function(job)
    local entries, found, over = job.entries, {}, job.tokens.total - job.target
    local tokens, pinned, role = entries.tokens, entries.pinned, entries.role
    for place = 1, entries.count do
      if over > 0 and role[place] == 'tool' and not pinned[place] then
        found[#found + 1] = place
        over = over - tokens[place]
      end
    end
    return { ops = { { op = 'summarize', entries = found, target = 500 } }, reason = 'old' }
  end,
}
",
)];

struct NoTexts;

impl MessageTexts for NoTexts {
    fn text(&self, _: MessageNumber) -> Option<String> {
        None
    }
}

fn columns(count: u32) -> Columns {
    let roles = [Role::User, Role::Assistant, Role::Tool, Role::Assistant];
    let speakers = [Speaker::Human, Speaker::Model, Speaker::Tool, Speaker::Model];
    let all = || 0..count as usize;
    Columns {
        count,
        role: all().map(|at| roles[at % 4].into()).collect(),
        speaker: all().map(|at| speakers[at % 4].into()).collect(),
        tokens: all().map(|at| 10 + at as u64 % 977).collect(),
        sent: all().map(|at| 10 + at as u64 % 977).collect(),
        exchange: (0..count).map(|at| at / 2).collect(),
        pinned: all().map(|at| at % 50 == 0).collect(),
        tools: all().map(|at| at % 4 > 1).collect(),
        names: all().map(|at| vec!["read_file".to_owned(); usize::from(at % 4 > 1)]).collect(),
        key: all().map(|at| format!("{at:08x}")).collect(),
        checkpoint: vec![0; count as usize],
        inputs: vec![Vec::new(); count as usize],
    }
}

/// A request of 400 messages, 1.4 MB of JSON.
fn request() -> Vec<u8> {
    let line = "let value = read(\"src/lib.rs\")?; // as it was before\n";
    let message =
        |at: u32| json!({ "role": "user", "content": format!("{at}\n{}", line.repeat(64)) });
    json!({ "messages": (0..400).map(message).collect::<Vec<_>>() }).to_string().into_bytes()
}

fn bench(criterion: &mut Criterion) {
    let Ok(engine) = PolicyEngine::new(LuaLimits::default()) else { return };
    let counter: Arc<dyn TokenCounter> = Arc::new(FixedCounter::Quarters);
    let found = FoundPolicy {
        name: "bench".to_owned(),
        files: PolicySource::Embedded(PLAN),
        libraries: Vec::new(),
    };
    let Ok(policy) = engine.load(&found, &counter, &Map::new()) else { return };
    let chain = PolicyChain::new(vec![Arc::new(policy) as Arc<dyn Policy>], BTreeMap::new());
    let mut common = Common::default();
    common.tokens.total = 150_000;
    let job = PlanJob {
        common: common.clone(),
        entries: columns(400),
        checkpoints: Vec::new(),
        target: 100_000,
        max_tokens: 120_000,
        floor: 5000,
        budgets: Budgets::default(),
        cause: CompactionCause::Soft,
        watermark: None,
        watermark_lost: false,
        texts: &NoTexts,
    };
    criterion.bench_function("plan over 400 messages", |bencher| {
        bencher.iter(|| black_box(chain.ask().plan(&job)));
    });
    let request = request();
    criterion.bench_function("the JSON of such a request", |bencher| {
        bencher.iter(|| black_box(serde_json::from_slice::<IgnoredAny>(&request).is_ok()));
    });
    let job = BudgetsJob { common };
    criterion.bench_function("budgets", |bencher| {
        bencher.iter(|| black_box(chain.ask().budgets(&job)));
    });
    criterion.bench_function("load", |bencher| {
        bencher.iter(|| black_box(engine.load(&found, &counter, &Map::new()).is_ok()));
    });
}

criterion_group!(benches, bench);
criterion_main!(benches);
