//! Compressed bodies, in every encoding that clients use, and those that are bombs.

use std::io::Write;

use epitome_upstream::Script;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use serde_json::{Value, json};

use super::agent::result_of;
use super::http::Ask;
use super::serving::Serving;

fn body() -> Value {
    json!({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "read_log", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": result_of("read_log", "7")}]}]})
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

/// Brotli with everything stored: a window of 16 bits, then blocks of up to 64 KiB as they are.
fn brotli(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    // The first header shares its byte with the size of the window, one bit.
    let mut shift = 1;
    for block in bytes.chunks(1 << 16) {
        // Not the last (1 bit), four nibbles of length (2 bits), the length (16), stored (1).
        let header = ((block.len() as u32 - 1) << 3) | (1 << 19);
        let bits = header << shift;
        out.extend_from_slice(&bits.to_le_bytes()[..3]);
        shift = 0;
        out.extend_from_slice(block);
    }
    // The last block, and an empty one.
    out.push(0b11);
    out
}

#[test]
fn every_encoding_is_read_and_sent_plainly() {
    let serving = Serving::start(Script::default(), &[]);
    let plain = body().to_string();
    serving.post("/v1/messages", &body());
    let expected = serving.last().raw;
    assert!(expected.len() * 2 < plain.len());
    for (name, packed) in [
        ("gzip", gzip(plain.as_bytes())),
        ("x-gzip", gzip(plain.as_bytes())),
        ("deflate", deflate(plain.as_bytes())),
        ("zstd", zstd(plain.as_bytes())),
        ("br", brotli(plain.as_bytes())),
        ("deflate, gzip", gzip(&deflate(plain.as_bytes()))),
        ("identity", plain.clone().into_bytes()),
    ] {
        let answer =
            serving.send(Ask::post("/v1/messages", packed).header("content-encoding", name));
        assert_eq!(answer.status, 200, "{name}: {}", answer.text());
        let arrived = serving.last();
        assert_eq!(arrived.raw, expected, "{name}");
        assert!(arrived.header("content-encoding").is_none_or(|it| it == "identity"), "{name}");
    }
}

#[test]
fn what_cannot_be_read_goes_out_as_it_came() {
    let serving = Serving::start(Script::default(), &[]);
    let packed = gzip(body().to_string().as_bytes());
    for (encoding, bytes) in [
        ("lzma", packed.clone()),
        ("gzip", packed[..packed.len() / 2].to_vec()),
        ("gzip", b"no gzip at all".to_vec()),
    ] {
        let ask = Ask::post("/v1/messages", bytes.clone()).header("content-encoding", encoding);
        let answer = serving.send(ask);
        let arrived = serving.upstream.records().pop().unwrap();
        assert_eq!(arrived.raw, bytes, "{encoding}");
        assert_eq!(arrived.header("content-encoding"), Some(encoding));
        assert!(answer.header("x-epitome-skip").is_some(), "{encoding}: {answer:?}");
    }
    // What is no JSON, or no conversation, goes out as it came, too.
    for text in ["{", "[]", "{\"messages\":3}", ""] {
        serving.send(Ask::post("/v1/messages", text));
        assert_eq!(serving.upstream.records().pop().unwrap().raw, text);
    }
}

#[test]
fn bombs_are_refused_in_the_clients_protocol() {
    let serving = Serving::start(Script::default(), &[]);
    let megabytes = vec![b' '; 96 << 20];
    let nested = gzip(&gzip(&megabytes));
    for (encoding, path, bytes) in [
        ("gzip", "/v1/messages", gzip(&megabytes)),
        ("gzip", "/v1/chat/completions", gzip(&megabytes)),
        ("gzip, gzip", "/v1/responses", nested),
        ("deflate", "/api/chat", deflate(&megabytes)),
    ] {
        assert!(bytes.len() < 1 << 20);
        let ask = Ask::post(path, bytes).header("content-encoding", encoding);
        let answer = serving.send(ask);
        assert_eq!(answer.status, 413, "{path} {encoding}: {}", answer.text());
        super::faults::check_protocol(path, &answer);
    }
    assert!(serving.prompts().is_empty());
    #[cfg(target_os = "linux")]
    assert!(super::load::peak(serving.pid()) < 300 << 20, "{}", super::load::peak(serving.pid()));
    serving.post("/v1/messages", &body());
}
