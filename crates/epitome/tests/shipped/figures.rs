//! The worked figures of RULES 19 to 25, asked of `ollm` through the kernel's chain.

use std::collections::BTreeMap;
use std::sync::Arc;

use epitome::types::hook::*;
use epitome::{Config, ConfigSources, PolicyChain, TokenCounter};
use epitome_testkit::FixedCounter;

fn ollm() -> PolicyChain {
    let counter: Arc<dyn TokenCounter> = Arc::new(FixedCounter::Words);
    let profile = Config::load(ConfigSources::default()).unwrap().profile("ollm").unwrap();
    PolicyChain::new(profile.load(&counter).unwrap().current(), BTreeMap::new())
}

/// A prompt of so many tokens in a window of this limit.
fn common(limit: u64, system: u64, checkpoints: u64, conversation: u64) -> Common {
    let total = system + checkpoints + conversation;
    Common {
        model: ModelFacts { limit, stated: true, ..ModelFacts::default() },
        tokens: Tokens { total, system, checkpoints, conversation, ..Tokens::default() },
        confidence: 1.0,
        ..Common::default()
    }
}

fn budgets(common: Common) -> Budgets {
    ollm().ask().budgets(&BudgetsJob { common }).unwrap().unwrap()
}

/// RULES 19.
#[test]
fn the_budget_shrinks_with_each_checkpoint() {
    let figures = [
        (0, 6300, 5040),
        (3400, 2900, 2320),
        (1500 + 2000, 2800, 2240),
        (800 + 1200 + 1800, 2500, 2000),
    ];
    for (checkpoints, available, trigger) in figures {
        let bounds = budgets(common(6800, 500, checkpoints, 0));
        let fixed = 500 + checkpoints;
        assert_eq!(6800 - fixed, available);
        assert_eq!(bounds.soft, Some(fixed + trigger), "{checkpoints}");
        assert_eq!(bounds.warn, Some(fixed + (available as f64 * 0.7) as u64), "{checkpoints}");
        assert_eq!(bounds.keep_recent, Some(2048.min(available * 3 / 10)), "{checkpoints}");
        assert_eq!(bounds.checkpoints, Some(6300 * 4 / 10));
        assert_eq!((bounds.hard, bounds.reserve), (Some(6800), Some(0)));
    }
}

/// RULES 22.
#[test]
fn checkpoints_age_with_compressions_4_and_7() {
    let aged = |compression: u32, level: u8, tokens: u64| {
        let checkpoint = Standing {
            id: "c1".to_owned(),
            level,
            number: 1,
            age: compression - 1,
            tokens,
            original: 9000,
            ..Standing::default()
        };
        // Class 3, whose checkpoints go through all levels, with the room of a window of 8K.
        let mut common = common(6_963, 500, tokens, 1000);
        common.model.size = Some(16_384);
        common.compressions = compression - 1;
        let budgets = budgets(common.clone());
        let job = AgeJob { common, checkpoints: vec![checkpoint], budgets };
        let answer = ollm().ask().age(&job).unwrap().unwrap_or_default();
        answer.first().map(|one| (one.to, one.target))
    };
    assert_eq!([aged(2, 3, 2000), aged(3, 3, 2000)], [None, None]);
    assert_eq!(aged(4, 3, 2000), Some((2, 1200)));
    assert_eq!(aged(4, 3, 1000), Some((2, 600)));
    assert_eq!([aged(5, 2, 1200), aged(6, 2, 1200)], [None, None]);
    assert_eq!(aged(7, 2, 1200), Some((1, 600)));
    assert_eq!(aged(7, 2, 1800), Some((1, 800)));
}

/// RULES 23.
#[test]
fn reliability_falls_with_each_compression() {
    let status = |model: &str, compressions| {
        let mut common = common(6800, 500, 0, 4734);
        (common.model.name, common.compressions) = (Some(model.to_owned()), compressions);
        let (used, budgets) = (0.77, budgets(common.clone()));
        let (report, history, done) = (false, Vec::new(), Default::default());
        let job = StatusJob { common, used, budgets, report, history, done };
        ollm().ask().status(&job).unwrap().unwrap()
    };
    let line = status("llama3:70b", 2).text.unwrap();
    assert_eq!(line, "Context: 5,234/6,800  🟡 66%  (2 compressions)");
    let scores = [
        ("llama3:70b", 0, 0.95, "high"),
        ("qwen2.5:32b", 0, 0.85, "high"),
        ("llama2:13b", 0, 0.70, "medium"),
        ("llama3:7b", 0, 0.50, "low"),
        ("llama3.2:3b", 0, 0.30, "critical"),
        ("llama3:70b", 2, 0.665, "medium"),
        ("llama3:70b", 9, 0.285, "critical"),
    ];
    for (model, compressions, score, level) in scores {
        let found = status(model, compressions);
        let near = found.score.is_some_and(|found| (found - score).abs() < 1e-9);
        assert!(near, "{model} {compressions}: {found:?}");
        assert_eq!(found.level.as_deref(), Some(level), "{model} {compressions}");
        assert_eq!(found.low, Some(score < 0.40), "{model} {compressions}");
    }
}

/// RULES 25.
#[test]
fn classes_follow_the_size() {
    let figures = [
        (4096, 1, 200, "rollover"),
        (8192, 2, 500, "smart"),
        (16_384, 3, 1000, "progressive"),
        (32_768, 4, 1500, "structured"),
        (32_769, 5, 1500, "structured"),
    ];
    for (size, class, prompt, strategy) in figures {
        let mut common = common(size * 85 / 100, 100, 0, 1000);
        common.model.size = Some(size);
        let bounds = budgets(common);
        assert_eq!((bounds.class, bounds.system), (Some(class), Some(prompt)), "{size}");
        assert_eq!(bounds.strategy.as_deref(), Some(strategy), "{size}");
    }
}
