//! Names of files in a line: what looks like a path, and how closely a line binds it to what follows.
//!
//! Invariant: a line with two different paths names none, so nothing is bound to the wrong one.
//! Called by the scanner of file copies.

/// How a line names a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Binding {
    /// A sentence mentions it.
    Sentence,
    /// It stands there with a few words.
    Label,
    /// It stands there alone.
    Name,
    /// It is said to be a file: by a tag, the opening of a fence, a key, the word "file".
    File,
}

/// A path that a line names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileLabel {
    pub(super) path: String,
    pub(super) binding: Binding,
}

/// The most words beside a path in a line that is there to name it.
const FEW: usize = 3;

/// The most letters and digits of an extension.
const EXTENSION: usize = 10;

/// Names of files that have no extension.
const BARE: [&str; 14] = [
    "Makefile",
    "Dockerfile",
    "Containerfile",
    "Jenkinsfile",
    "Justfile",
    "Procfile",
    "Rakefile",
    "Gemfile",
    "Vagrantfile",
    "BUILD",
    "WORKSPACE",
    "LICENSE",
    "README",
    "CODEOWNERS",
];

/// Extensions of files that people edit as text and that hold no source.
pub(super) const PROSE: [&str; 9] =
    ["md", "markdown", "mdx", "txt", "rst", "adoc", "org", "tex", "text"];

/// Extensions of source and configuration: a sentence that mentions such a name mentions a file.
const SOURCE: [&str; 95] = [
    "py",
    "pyi",
    "rs",
    "ts",
    "tsx",
    "js",
    "jsx",
    "mjs",
    "cjs",
    "vue",
    "svelte",
    "astro",
    "go",
    "java",
    "kt",
    "kts",
    "scala",
    "groovy",
    "gradle",
    "c",
    "h",
    "cc",
    "cpp",
    "cxx",
    "hh",
    "hpp",
    "m",
    "mm",
    "swift",
    "cs",
    "fs",
    "vb",
    "rb",
    "erb",
    "php",
    "pl",
    "pm",
    "lua",
    "luau",
    "r",
    "jl",
    "dart",
    "ex",
    "exs",
    "erl",
    "hrl",
    "elm",
    "clj",
    "cljs",
    "hs",
    "ml",
    "mli",
    "nim",
    "zig",
    "v",
    "sv",
    "vhd",
    "sol",
    "sql",
    "graphql",
    "proto",
    "thrift",
    "sh",
    "bash",
    "zsh",
    "fish",
    "ps1",
    "bat",
    "cmd",
    "html",
    "htm",
    "css",
    "scss",
    "sass",
    "less",
    "xml",
    "xsl",
    "svg",
    "json",
    "json5",
    "yaml",
    "yml",
    "toml",
    "ini",
    "cfg",
    "conf",
    "properties",
    "env",
    "tf",
    "hcl",
    "nix",
    "cmake",
    "mk",
    "ipynb",
    "el",
];

/// Names that look like a file's and are known as something else.
const OTHERS: [&str; 14] = [
    "node.js",
    "vue.js",
    "next.js",
    "nuxt.js",
    "react.js",
    "three.js",
    "express.js",
    "d3.js",
    "chart.js",
    "ember.js",
    "backbone.js",
    "asp.net",
    "socket.io",
    "discord.js",
];

/// The name that a line is there to give, or that its sentence mentions.
pub(super) fn of_line(line: &str) -> Option<FileLabel> {
    let (mut path, mut words, mut says_file) = (None, 0, false);
    for token in line.split_whitespace().flat_map(pieces) {
        let bare = bare(token);
        // What is called is no file.
        match known(bare).filter(|_| !token.contains("()")) {
            Some(found) if path.as_ref().is_none_or(|known| *known == found) => path = Some(found),
            Some(_) => return None,
            None if bare.chars().any(char::is_alphanumeric) => {
                words += 1;
                says_file |=
                    ["file", "filename", "path"].iter().any(|word| bare.eq_ignore_ascii_case(word));
            }
            None => {}
        }
    }
    let path = path?;
    let binding = match words {
        0..=FEW if says_file && line.contains(':') => Binding::File,
        0..=FEW if line.trim_end().ends_with(':') => Binding::Name,
        0 => Binding::Name,
        1..=FEW => Binding::Label,
        _ if is_source(&path) => Binding::Sentence,
        _ => return None,
    };
    Some(FileLabel { path, binding })
}

/// The path in what opens a fence: beside the name of a language, behind a colon, in an attribute.
pub(super) fn of_info(info: &str) -> Option<FileLabel> {
    let between =
        |c: char| c.is_whitespace() || matches!(c, '=' | '"' | '\'' | '{' | '}' | ',' | ':');
    let path = info.split(between).find_map(|token| known(bare(token)))?;
    Some(FileLabel { path, binding: Binding::File })
}

/// Extensions of what is written in one language, and what that is called where a fence opens.
const LANGUAGES: [&[&str]; 12] = [
    &["python", "py", "python3", "pyi"],
    &["javascript", "typescript", "js", "jsx", "mjs", "cjs", "ts", "tsx", "vue", "svelte"],
    &["rust", "rs"],
    &["go", "golang"],
    &["java", "kotlin", "kt", "kts", "scala", "groovy", "gradle"],
    &["c", "cpp", "c++", "h", "cc", "cxx", "hh", "hpp", "m", "mm"],
    &["ruby", "rb", "erb"],
    &["php"],
    &["html", "htm", "xml", "svg", "xsl"],
    &["css", "scss", "sass", "less"],
    &["yaml", "yml"],
    &["sql"],
];

/// Whether what opens a fence names a language that no file of this path is written in.
pub(super) fn is_in_other_language(info: &str, path: &str) -> bool {
    let word = info.split(|c: char| c.is_whitespace() || c == '{').next().unwrap_or_default();
    let (word, extension) = (word.to_ascii_lowercase(), extension(path).unwrap_or_default());
    let language = LANGUAGES.iter().find(|names| names.contains(&&*word));
    language.is_some_and(|names| !names.contains(&&*extension))
}

/// Whether what opens a fence names a language that prose is written in.
pub(super) fn is_prose_language(info: &str) -> bool {
    // What programs print is called text, too.
    const LANGUAGES: [&str; 8] = ["md", "markdown", "mdx", "rst", "adoc", "org", "tex", "latex"];
    let word = info.split(|c: char| c.is_whitespace() || c == '{').next().unwrap_or_default();
    LANGUAGES.iter().any(|one| word.eq_ignore_ascii_case(one))
}

/// The path in a comment that is the first line of a body.
pub(super) fn of_comment(line: &str) -> Option<FileLabel> {
    let line = line.trim();
    let inner =
        ["#", "//", "/*", "--", "<!--", ";;", ";", "%", "\""].iter().find_map(|opening| {
            line.strip_prefix(opening).filter(|inner| !inner.starts_with(['!', '[']))
        })?;
    let inner = inner.trim_end_matches("*/").trim_end_matches("-->");
    let label = of_line(inner)?;
    let words = inner.split_whitespace().filter(|word| word.contains(char::is_alphabetic)).count();
    (words <= 2).then_some(FileLabel { binding: Binding::File, ..label })
}

/// A value that is nothing but a path, spaces in its names included.
pub(super) fn of_value(value: &str) -> Option<String> {
    let value = value.trim();
    let fits = value.len() < 260 && !value.contains(['\n', '<', '>', '"', '`']);
    let parts = value.split([' ', '\t']);
    let last = parts.clone().next_back().filter(|_| fits)?;
    if parts.count() == 1 {
        return known(value).or_else(|| known_folder(value));
    }
    // A sentence may end with a path; a name with a space has few words.
    let is_name = value.split_whitespace().count() <= FEW && !value.contains([':', ',', ';']);
    (is_name && is_source(last)).then(|| normal(value))
}

/// A path without an extension: that it has folders says so.
fn known_folder(token: &str) -> Option<String> {
    let inner = token.trim_start_matches("./");
    let is_word = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || "._-+@".contains(c))
    };
    let parts: Vec<_> = inner.trim_start_matches('/').split('/').collect();
    (parts.len() > 1 && parts.iter().all(|part| is_word(part))).then(|| normal(token))
}

/// The extension of a path, in lower case.
pub(super) fn extension(path: &str) -> Option<String> {
    let name = path.rsplit('/').next()?;
    Some(name.rsplit_once('.')?.1.to_ascii_lowercase())
}

/// Whether a path is that of source, configuration or prose by its extension or name.
fn is_source(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let by_extension =
        extension(path).is_some_and(|it| SOURCE.contains(&&*it) || PROSE.contains(&&*it));
    (by_extension || BARE.contains(&name)) && !OTHERS.contains(&&*name.to_ascii_lowercase())
}

/// A token that is a path.
fn known(token: &str) -> Option<String> {
    // Most words are told from a path by this alone, and each word of a request is looked at.
    let name = token.rsplit(['/', '\\']).next().unwrap_or_default();
    if !name.contains('.') && !BARE.contains(&name) {
        return None;
    }
    let is_address = token.contains("://") || token.starts_with("www.") || token.contains('@');
    let is_odd = |c: char| match c {
        '<' | '>' | '|' | '?' | '*' | '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '{' | '}' => true,
        ',' | ';' | '=' | '&' | '$' | '!' => true,
        _ => c.is_whitespace(),
    };
    if token.len() > 200 || is_address || token.contains(is_odd) {
        return None;
    }
    let path = normal(token);
    let name = path.rsplit('/').next()?;
    if BARE.contains(&name) {
        return Some(path);
    }
    let (stem, extension) = name.rsplit_once('.')?;
    let is_extension = (1..=EXTENSION).contains(&extension.len())
        && extension.chars().all(|c| c.is_ascii_alphanumeric())
        && extension.contains(|c: char| c.is_ascii_alphabetic());
    let has_letters = stem.is_empty() || stem.contains(|c: char| c.is_alphanumeric());
    let is_other = OTHERS.contains(&&*name.to_ascii_lowercase())
        || ["com", "org", "net", "e", "g"].contains(&extension) && !path.contains('/');
    // `1.2.x` is a version, `e.g` a word.
    let is_number = stem.chars().all(|c| c.is_ascii_digit() || c == '.') && !stem.is_empty();
    (is_extension && has_letters && !is_other && !is_number).then_some(path)
}

/// A path with `/` between its parts and no `./` before them.
fn normal(path: &str) -> String {
    let path = path.replace('\\', "/");
    path.trim_start_matches("./").to_owned()
}

/// The pieces of a token that colons join; an address is one.
fn pieces(token: &str) -> impl Iterator<Item = &str> {
    let address = token.contains("://").then_some(token);
    let pieces = token.split(':').filter(move |_| address.is_none());
    address.into_iter().chain(pieces)
}

/// A token without what stands around a name in a line that gives it.
fn bare(token: &str) -> &str {
    let around =
        |c: char| c.is_ascii_punctuation() && !"/\\_~@.".contains(c) || "“”‘’–—…".contains(c);
    token.trim_matches(around).trim_end_matches(['.', '/']).trim_end_matches(around)
}
