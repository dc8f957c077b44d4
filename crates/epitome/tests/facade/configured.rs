//! What a profile of a configuration says, as a compression follows it.

use std::path::Path;

use epitome::{Compressor, CompressorBuilder, Config, ConfigSources, Format, WindowSetting};

fn load(text: &str) -> Config {
    Config::load(ConfigSources::default().text(Path::new("epitome.toml"), text)).unwrap()
}

#[test]
fn the_window_and_the_model_of_a_profile_are_used_unless_the_host_says_otherwise() {
    let message = format!(r#"[{{"role":"user","content":"{}"}}]"#, "word ".repeat(90));
    let profile = load("[profile.team]\nprompt_limit = 50").profile("team").unwrap();
    let compress = |builder: CompressorBuilder| {
        let compressor = builder.input_format(Format::OpenAi).build();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(compressor.compress(message.as_bytes()))
    };
    let builder = Compressor::builder().profile(profile);
    assert!(compress(builder).is_err(), "90 words do not fit into 50 tokens");
    let profile = load("[profile.team]\nprompt_limit = 50").profile("team").unwrap();
    let builder = Compressor::builder().profile(profile).window(WindowSetting::Limit(500));
    assert_eq!(compress(builder).unwrap().report.limit, Some(500));
    let profile = load("[profile.team]\nmodel = \"gpt-4\"").profile("team").unwrap();
    let report = compress(Compressor::builder().profile(profile)).unwrap().report;
    assert_eq!(report.counter, "cl100k_base");
    let counted = "[profile.team]\nmodel = \"gpt-4\"\ncounter = \"o200k_base\"";
    let profile = load(counted).profile("team").unwrap();
    let report = compress(Compressor::builder().profile(profile)).unwrap().report;
    assert_eq!(report.counter, "o200k_base");
}
