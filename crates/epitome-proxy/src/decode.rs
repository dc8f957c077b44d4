//! Compressed bodies, decoded within a bound.
//!
//! Invariant: whatever the bytes are, no step holds more than the bound (and one block of its
//! decoder) at a time, so a small body cannot ask for much memory (RULES 131). Called by `body`, on
//! a thread that relays nothing.

use std::io::{self, Read};

use brotli_decompressor::{BrotliDecoderParameter, Decompressor as Brotli};
use bytes::Bytes;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

/// Bodies up to this size may be of any ratio.
const SMALL: usize = 4 << 20;
/// How many times its own size a body may decode to. Logs that repeat themselves come to about 100.
const RATIO: usize = 200;
/// Encodings on top of each other; nobody needs two.
const LAYERS: usize = 4;
/// The window that every zstd decoder for HTTP has to offer (RFC 9659).
const WINDOW: usize = 8 << 20;
/// How much is decoded at a time.
const STEP: usize = 64 << 10;

/// One way in which a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// Why a body was not decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Undecoded {
    /// It would be larger than this many bytes.
    TooLarge(usize),
    /// It is not what its header says, or in an encoding that is not known here.
    Unreadable,
}

/// The encodings of a body, in the order in which they were applied.
pub(crate) fn encodings(headers: &HeaderMap) -> Result<Vec<Encoding>, Undecoded> {
    let mut found = Vec::new();
    for value in headers.get_all(CONTENT_ENCODING) {
        let value = value.to_str().map_err(|_| Undecoded::Unreadable)?;
        for name in value.split(',').map(str::trim) {
            found.push(match name.to_ascii_lowercase().as_str() {
                "" | "identity" => continue,
                "gzip" | "x-gzip" => Encoding::Gzip,
                "deflate" => Encoding::Deflate,
                "br" => Encoding::Brotli,
                "zstd" => Encoding::Zstd,
                _ => return Err(Undecoded::Unreadable),
            });
        }
    }
    if found.len() > LAYERS { Err(Undecoded::Unreadable) } else { Ok(found) }
}

/// The most bytes that a body of so many encoded ones is decoded to, of `most` in any case.
pub(crate) fn bound(encoded: usize, most: usize) -> usize {
    most.min(encoded.saturating_mul(RATIO).max(SMALL))
}

/// The body without its encodings, at most `most` bytes.
pub(crate) fn decode(body: Bytes, encodings: &[Encoding], most: usize) -> Result<Bytes, Undecoded> {
    let bound = bound(body.len(), most);
    encodings.iter().rev().try_fold(body, |body, encoding| {
        Ok(Bytes::from(match encoding {
            Encoding::Gzip => whole(MultiGzDecoder::new(&body[..]), body.len(), bound)?,
            Encoding::Deflate if is_zlib(&body) => {
                whole(ZlibDecoder::new(&body[..]), body.len(), bound)?
            }
            Encoding::Deflate => whole(DeflateDecoder::new(&body[..]), body.len(), bound)?,
            Encoding::Brotli => {
                let mut brotli = Brotli::new(&body[..], STEP);
                let large = BrotliDecoderParameter::BROTLI_DECODER_PARAM_LARGE_WINDOW;
                // Windows of a gigabyte are no part of what `br` means in HTTP.
                brotli.set_parameter(large, 0);
                whole(brotli, body.len(), bound)?
            }
            Encoding::Zstd => zstd(&body, bound)?,
        }))
    })
}

/// Whether deflated bytes have the wrapper that the standard asks for and some leave out.
fn is_zlib(body: &[u8]) -> bool {
    matches!(body, [first, second, ..]
        if first & 0x0f == 8 && u16::from_be_bytes([*first, *second]) % 31 == 0)
}

/// All that a decoder has to say.
fn whole(decoder: impl Read, size: usize, bound: usize) -> Result<Vec<u8>, Undecoded> {
    let mut out = Vec::with_capacity(bound.min(size.saturating_mul(4)));
    append(decoder, &mut out, bound)?;
    Ok(out)
}

fn append(decoder: impl Read, out: &mut Vec<u8>, bound: usize) -> Result<(), Undecoded> {
    let room = bound.saturating_sub(out.len()) as u64;
    let read = decoder.take(room + 1).read_to_end(out);
    match read.map_err(|_: io::Error| Undecoded::Unreadable)? {
        read if read as u64 > room => Err(Undecoded::TooLarge(bound)),
        _ => Ok(()),
    }
}

/// All frames of a zstd body; those that may be skipped are.
fn zstd(body: &[u8], bound: usize) -> Result<Vec<u8>, Undecoded> {
    let mut rest = body;
    let mut out = Vec::with_capacity(bound.min(body.len().saturating_mul(4)));
    while !rest.is_empty() {
        let window = bound.max(WINDOW) as u64;
        match StreamingDecoder::<_, FrameDecoder>::new_with_max_window_size(&mut rest, window) {
            Ok(frame) => append(frame, &mut out, bound)?,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => rest = rest.get(length as usize..).ok_or(Undecoded::Unreadable)?,
            Err(_) => return Err(Undecoded::Unreadable),
        }
    }
    if body.is_empty() { Err(Undecoded::Unreadable) } else { Ok(out) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use proptest::prelude::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    /// `{"messages":[]}` as the reference encoder of brotli writes it at its default quality.
    const BROTLI: &[u8] = &[
        0x0b, 0x07, 0x80, 0x7b, 0x22, 0x6d, 0x65, 0x73, 0x73, 0x61, 0x67, 0x65, 0x73, 0x22, 0x3a,
        0x5b, 0x5d, 0x7d, 0x03,
    ];

    fn encode(bytes: &[u8], encoding: &str) -> Vec<u8> {
        let level = Compression::default();
        match encoding {
            "gzip" => {
                let mut encoder = GzEncoder::new(Vec::new(), level);
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            "zlib" => {
                let mut encoder = ZlibEncoder::new(Vec::new(), level);
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            "raw" => {
                let mut encoder = DeflateEncoder::new(Vec::new(), level);
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            _ => compress_to_vec(bytes, CompressionLevel::Fastest),
        }
    }

    fn named(header: &str) -> Result<Vec<Encoding>, Undecoded> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_ENCODING, header.parse().unwrap());
        encodings(&headers)
    }

    #[track_caller]
    fn check(body: Vec<u8>, header: &str, most: usize, expected: Result<&[u8], Undecoded>) {
        let decoded = decode(body.into(), &named(header).unwrap(), most);
        assert_eq!(decoded.as_deref().map_err(|error| *error), expected, "{header}");
    }

    #[test]
    fn every_encoding_is_read() {
        let text = br#"{"messages":[]}"#;
        check(text.to_vec(), "identity", 100, Ok(text));
        check(encode(text, "gzip"), "gzip", 100, Ok(text));
        check(
            [encode(text, "gzip"), encode(text, "gzip")].concat(),
            "x-gzip",
            100,
            Ok(&[*text; 2].concat()),
        );
        check(encode(text, "zlib"), "deflate", 100, Ok(text));
        check(encode(text, "raw"), "Deflate", 100, Ok(text));
        check(encode(text, "zstd"), "zstd", 100, Ok(text));
        check(BROTLI.to_vec(), "br", 100, Ok(text));
        check(encode(&encode(text, "gzip"), "zstd"), "gzip, zstd", 100, Ok(text));
    }

    #[test]
    fn frames_of_zstd_follow_each_other_and_some_are_skipped() {
        let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        let body = [encode(b"one ", "zstd"), skipped, encode(b"two", "zstd")].concat();
        check(body.clone(), "zstd", 7, Ok(b"one two"));
        check(body, "zstd", 6, Err(Undecoded::TooLarge(6)));
    }

    #[test]
    fn what_is_not_what_it_says_is_unreadable() {
        for header in ["gzip", "deflate", "br", "zstd"] {
            check(b"\xff\xffplain".to_vec(), header, 100, Err(Undecoded::Unreadable));
            check(Vec::new(), header, 100, Err(Undecoded::Unreadable));
        }
        check(encode(b"cut", "gzip")[..9].to_vec(), "gzip", 100, Err(Undecoded::Unreadable));
        assert_eq!(named("compress"), Err(Undecoded::Unreadable));
        assert_eq!(named("gzip,gzip,gzip,gzip,gzip"), Err(Undecoded::Unreadable));
    }

    #[test]
    fn a_bomb_is_stopped_at_the_bound() {
        let zeros = vec![0; 32 << 20];
        for (encoding, header) in [("gzip", "gzip"), ("zlib", "deflate"), ("zstd", "zstd")] {
            let bomb = encode(&zeros, encoding);
            let ratio = (bomb.len() * RATIO).max(SMALL);
            check(bomb, header, usize::MAX, Err(Undecoded::TooLarge(ratio)));
        }
        let twice = encode(&encode(&zeros, "gzip"), "gzip");
        check(twice, "gzip, gzip", usize::MAX, Err(Undecoded::TooLarge(SMALL)));
    }

    proptest! {
        /// Any bytes at all: no panic, and never more than the bound.
        #[test]
        fn nothing_exceeds_the_bound(
            bytes in prop::collection::vec(any::<u8>(), 0..400),
            layers in prop::collection::vec(0..4_usize, 1..3),
            valid: bool,
            most in 0..2000_usize,
        ) {
            let all = [
                (Encoding::Gzip, "gzip"),
                (Encoding::Deflate, "raw"),
                (Encoding::Brotli, "zstd"),
                (Encoding::Zstd, "zstd"),
            ];
            let encodings: Vec<_> = layers.iter().map(|layer| all[*layer].0).collect();
            let body = match valid {
                true => layers.iter().fold(bytes, |bytes, layer| encode(&bytes, all[*layer].1)),
                false => bytes,
            };
            if let Ok(decoded) = decode(body.into(), &encodings, most) {
                prop_assert!(decoded.len() <= most);
            }
        }
    }
}
