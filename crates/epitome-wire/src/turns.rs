//! The requests that a client made on the way to a conversation: what replay and scan send.
//!
//! Invariant: a turn is a beginning of the same request: everything but the messages that were not
//! yet said keeps its bytes, and since a reply is never cut from the results of its calls, a turn
//! of a valid request is valid (RULES 101 to 106).

use epitome_types::{EntryId, Role};

use crate::RequestDocument;

impl RequestDocument<'_> {
    /// How many messages each request held, oldest first.
    ///
    /// A request ends right before a reply, with all results of the reply before it; the newest
    /// one is the whole conversation, if that asks for a reply too. Replies that follow each other
    /// with nothing between them are one: nobody asked for the second. What stands before a first
    /// message that is a reply is no request.
    pub fn turns(&self) -> Vec<usize> {
        let sites = self.sites();
        let asks = |end: &usize| {
            let before = end.checked_sub(1).and_then(|last| sites.get(last));
            let reply = sites.get(*end).is_none_or(|next| next.role == Role::Assistant);
            before.is_some_and(|last| last.role != Role::Assistant) && reply
        };
        (1..=sites.len()).filter(asks).collect()
    }

    /// The request that holds only its first `count` messages, all else as it is: one copy of the
    /// bytes. With as many as there are, or more, the very same bytes.
    pub fn prefix(&self, count: usize) -> Vec<u8> {
        let (bytes, messages) = (self.bytes(), self.messages());
        if self.is_bare() && count == 0 {
            let (head, tail) = (&bytes[..messages.span.start()], &bytes[messages.span.end()..]);
            return [head, b"[]", tail].concat();
        }
        let left_out = match (messages.items.get(count), messages.items.last()) {
            (Some(first), Some(last)) => {
                let before = count.checked_sub(1).and_then(|before| messages.items.get(before));
                before.map_or(first.start(), |before| before.end())..last.end()
            }
            _ => bytes.len()..bytes.len(),
        };
        let (head, tail) = (&bytes[..left_out.start], &bytes[left_out.end..]);
        let mut out = Vec::with_capacity(head.len() + tail.len());
        out.extend_from_slice(head);
        out.extend_from_slice(tail);
        out
    }

    /// The request with these messages behind its own, each as it is given, and all else as it is.
    /// They are not checked: [`crate::message`] does that.
    pub fn extended<'m>(&self, messages: impl IntoIterator<Item = &'m [u8]>) -> Vec<u8> {
        let (bytes, list) = (self.bytes(), self.messages());
        // Behind the bracket where there is none yet.
        let end = list.items.last().map_or(list.span.start() + 1, |last| last.end());
        let mut messages = messages.into_iter().peekable();
        let wrapped = self.is_bare() && messages.peek().is_some();
        let mut out = bytes[..end].to_vec();
        if wrapped {
            out.truncate(list.span.start());
            out.push(b'[');
            out.extend_from_slice(self.message_bytes(EntryId(self.lead() as u32)));
        }
        let mut follows = !list.items.is_empty();
        for message in messages {
            if follows {
                out.push(b',');
            }
            out.extend_from_slice(message);
            follows = true;
        }
        if wrapped {
            out.push(b']');
        }
        out.extend_from_slice(&bytes[end..]);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;

    /// `s`, `u`, `a` and `t` are messages in these roles.
    #[track_caller]
    fn check(messages: &str, turns: &[usize]) {
        let items: Vec<_> = messages
            .chars()
            .map(|message| match message {
                's' => r#"{"role":"system","content":"s"}"#,
                'u' => r#"{"role":"user","content":"u"}"#,
                'a' => r#"{"role":"assistant","content":"a"}"#,
                _ => r#"{"role":"tool","tool_call_id":"t","content":"t"}"#,
            })
            .collect();
        let body = format!("{{\"n\":1.0,\"messages\":[ {} ] ,\"m\":2}}", items.join(" ,\n"));
        let document = RequestDocument::parse(body.as_bytes(), Format::OpenAi).unwrap();
        assert_eq!(document.turns(), turns, "{messages}");
        for count in 0..items.len() + 2 {
            let prefix = String::from_utf8(document.prefix(count)).unwrap();
            let kept = items.iter().take(count).copied().collect::<Vec<_>>().join(" ,\n");
            assert_eq!(prefix, format!("{{\"n\":1.0,\"messages\":[ {kept} ] ,\"m\":2}}"));
        }
    }

    #[test]
    fn a_request_ends_before_a_reply() {
        check("", &[]);
        check("u", &[1]);
        check("ua", &[1]);
        check("suau", &[2, 4]);
        check("uattau", &[1, 4, 6]);
        check("uuasa", &[2, 4]);
    }

    #[test]
    fn a_request_grows_at_its_end() {
        let check = |body: &str, expected: &str| {
            let document = RequestDocument::parse(body.as_bytes(), Format::OpenAi).unwrap();
            let grown = document.extended(["{1}", "{2}"].map(str::as_bytes));
            assert_eq!(String::from_utf8(grown).unwrap(), expected);
            assert_eq!(document.extended([]), body.as_bytes());
        };
        check("[]", "[{1},{2}]");
        check("{\"messages\": [ ],\"n\":1.0}", "{\"messages\": [{1},{2} ],\"n\":1.0}");
        let first = r#"{"role":"user","content":"]"}"#;
        check(&format!("[{first} ]"), &format!("[{first},{{1}},{{2}} ]"));
    }

    #[test]
    fn replies_in_a_row_are_one_and_the_first_message_is_asked_by_no_one() {
        check("uaau", &[1, 4]);
        check("aua", &[2]);
        check("a", &[]);
    }
}
