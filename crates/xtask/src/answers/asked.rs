//! A model behind the API of OpenAI as llama.cpp's server speaks it: its window, its tokens, its answers.
//!
//! Invariant: nothing is asked twice; what was answered stands in a file, a line for each. Called by
//! `answers`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

/// A server, and what it answered before.
pub(crate) struct AskedModel {
    address: String,
    /// What the server calls its model.
    pub(crate) name: String,
    kept: String,
    answers: BTreeMap<String, Value>,
}

/// What makes the answers the same every time, as far as the server goes.
const SEED: u64 = 1;

impl AskedModel {
    /// The model of the server at an address, with the answers of a file.
    pub(crate) fn at(address: &str, kept: &str) -> Result<Self> {
        let address = address.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let mut model =
            Self { address, name: String::new(), kept: kept.to_owned(), answers: BTreeMap::new() };
        let models = model.asked("GET", "/v1/models", "")?;
        model.name =
            models["data"][0]["id"].as_str().context("the server names no model")?.to_owned();
        if Path::new(kept).exists() {
            model.answers = read(kept)?;
        }
        Ok(model)
    }

    /// The tokens that its window holds.
    pub(crate) fn window(&self) -> Result<usize> {
        let props = self.asked("GET", "/props", "")?;
        let window = props["default_generation_settings"]["n_ctx"].as_u64();
        Ok(window.context("the server does not say how large its window is")?.try_into()?)
    }

    /// The tokens of a text.
    pub(crate) fn tokens(&mut self, text: &str) -> Result<usize> {
        let body = json!({"content": text});
        let count = self.once("/tokenize", &body, |answer| {
            let tokens = answer["tokens"].as_array();
            tokens.map(|tokens| json!(tokens.len()))
        })?;
        Ok(count.as_u64().context("no count of tokens")?.try_into()?)
    }

    /// What it answers, in at most so many tokens.
    pub(crate) fn answer(&mut self, prompt: &str, most: usize) -> Result<String> {
        let body = json!({
            "model": self.name, "temperature": 0, "seed": SEED, "max_tokens": most, "cache_prompt": true,
            "messages": [{"role": "user", "content": prompt}],
        });
        let answer = self.once("/v1/chat/completions", &body, |answer| {
            Some(answer["choices"][0]["message"]["content"].clone()).filter(Value::is_string)
        })?;
        Ok(answer.as_str().unwrap_or_default().to_owned())
    }

    /// What stands in the file for this question, or else what the server says.
    fn once(
        &mut self,
        path: &str,
        body: &Value,
        wanted: fn(&Value) -> Option<Value>,
    ) -> Result<Value> {
        let body = body.to_string();
        let key = blake3::hash(format!("{}\n{path}\n{body}", self.name).as_bytes()).to_string();
        if let Some(answer) = self.answers.get(&key) {
            return Ok(answer.clone());
        }
        let answer = self.asked("POST", path, &body)?;
        let answer = wanted(&answer).with_context(|| format!("{path}: {answer}"))?;
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.kept)?;
        writeln!(file, "{}", json!({"asked": key, "answer": answer}))?;
        self.answers.insert(key, answer.clone());
        Ok(answer)
    }

    fn asked(&self, method: &str, path: &str, body: &str) -> Result<Value> {
        let mut stream = TcpStream::connect(&self.address).with_context(|| self.address.clone())?;
        let (address, length) = (&self.address, body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("no answer of HTTP")?;
        let status = head.lines().next().unwrap_or_default();
        ensure!(status.contains(" 200 "), "{path}: {status}: {body}");
        serde_json::from_str(body).with_context(|| format!("{path}: {body}"))
    }
}

#[expect(clippy::disallowed_methods, reason = "this tool reads the file that it is told")]
fn read(kept: &str) -> Result<BTreeMap<String, Value>> {
    let text = fs::read_to_string(kept).with_context(|| kept.to_owned())?;
    let line = |line: &str| -> Option<(String, Value)> {
        let line: Value = serde_json::from_str(line).ok()?;
        Some((line["asked"].as_str()?.to_owned(), line["answer"].clone()))
    };
    Ok(text.lines().filter_map(line).collect())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    #[test]
    fn nothing_is_asked_twice() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let server = thread::spawn(move || {
            let bodies = [
                r#"{"data": [{"id": "small"}]}"#,
                r#"{"choices": [{"message": {"content": "Durian."}}]}"#,
                r#"{"data": [{"id": "small"}]}"#,
            ];
            for body in bodies {
                let (mut stream, _) = listener.accept().unwrap();
                let mut asked = [0; 4096];
                assert!(stream.read(&mut asked).unwrap() > 0);
                write!(stream, "HTTP/1.1 200 OK\r\n\r\n{body}").unwrap();
            }
        });
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("kept").display().to_string();
        for _ in 0..2 {
            let mut model = AskedModel::at(&address, &kept).unwrap();
            assert_eq!(model.answer("Which fruit?", 8).unwrap(), "Durian.");
        }
        server.join().unwrap();
    }
}
