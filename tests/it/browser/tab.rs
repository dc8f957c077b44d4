//! A tab of a Chromium: what is pressed in it, what it shows, and what went wrong.

use std::time::Duration;

use serde_json::{Value, json};

use super::chromium::Chromium;

/// How often it is looked whether something shows, and how long it takes until the next look.
const LOOKS: u32 = 700;
const PAUSE: Duration = Duration::from_millis(30);

/// A tab.
pub(super) struct Tab {
    chromium: Chromium,
    session: String,
    /// The origin of the page.
    origin: String,
    /// What the console was told, what the policy refused, and requests to anybody else.
    faults: Vec<String>,
}

impl Tab {
    /// Opens an address in a new tab.
    #[track_caller]
    pub(super) fn open(mut chromium: Chromium, origin: &str, path: &str) -> Self {
        let target = chromium.call(None, "Target.createTarget", json!({"url": "about:blank"}));
        let target = json!({"targetId": target["targetId"], "flatten": true});
        let attached = chromium.call(None, "Target.attachToTarget", target);
        let session = attached["sessionId"].as_str().unwrap().to_owned();
        let mut tab = Self { chromium, session, origin: origin.to_owned(), faults: Vec::new() };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            tab.call(&format!("{domain}.enable"), json!({}));
        }
        tab.size(1280, 900);
        tab.go(path);
        tab
    }

    #[track_caller]
    fn call(&mut self, method: &str, params: Value) -> Value {
        let result = self.chromium.call(Some(&self.session), method, params);
        self.look();
        result
    }

    /// Looks at what came meanwhile.
    fn look(&mut self) {
        while let Some(event) = self.chromium.events.pop_front() {
            let params = &event["params"];
            let fault = match event["method"].as_str().unwrap_or_default() {
                "Runtime.exceptionThrown" => Some(params["exceptionDetails"].to_string()),
                "Runtime.consoleAPICalled" => Some(params["args"].to_string()),
                "Log.entryAdded" => Some(params["entry"].to_string()),
                "Network.requestWillBeSent" => {
                    let url = params["request"]["url"].as_str().unwrap_or_default();
                    let is_own = url.starts_with(&self.origin) || url.starts_with("about:");
                    (!is_own).then(|| format!("asked {url}"))
                }
                _ => None,
            };
            self.faults.extend(fault);
        }
    }

    /// Goes to a path of the page, and waits for it.
    #[track_caller]
    pub(super) fn go(&mut self, path: &str) {
        let url = format!("{}{path}", self.origin);
        self.eval("window.isOld = true");
        let gone = self.call("Page.navigate", json!({"url": url}));
        assert!(gone.get("errorText").is_none(), "{url}: {gone}");
        self.loaded();
    }

    /// Waits for another page than the one that was there.
    #[track_caller]
    pub(super) fn loaded(&mut self) {
        self.until("!window.isOld && document.readyState === 'complete' && !!document.body");
    }

    /// What an expression comes to.
    #[track_caller]
    pub(super) fn eval(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let result = self.call("Runtime.evaluate", params);
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub(super) fn until(&mut self, expression: &str) {
        for _ in 0..LOOKS {
            // Between two pages there is nothing to ask, and the answer is an error.
            let params = json!({"expression": expression, "returnByValue": true});
            let result = self.call("Runtime.evaluate", params);
            if result["result"]["value"] == true {
                return;
            }
            std::thread::sleep(PAUSE);
        }
        let text = self.text();
        panic!("not true in time: {expression}\n{:?}\n{text}", self.faults);
    }

    /// The words of the page.
    #[track_caller]
    pub(super) fn text(&mut self) -> String {
        self.eval("document.body.innerText").as_str().unwrap_or_default().to_owned()
    }

    /// Clicks on what a selector finds first, with the mouse.
    #[track_caller]
    pub(super) fn click(&mut self, selector: &str) {
        let place = format!(
            "(() => {{ const it = document.querySelector({}); it.scrollIntoView({{block: 'center'}}); \
             const at = it.getBoundingClientRect(); \
             return [at.x + at.width / 2, at.y + at.height / 2]; }})()",
            json!(selector)
        );
        let place = self.eval(&place);
        for kind in ["mousePressed", "mouseReleased"] {
            let params = json!({"type": kind, "x": place[0], "y": place[1], "button": "left",
                "clickCount": 1});
            self.call("Input.dispatchMouseEvent", params);
        }
    }

    /// Presses a key, with Ctrl held where `ctrl`.
    #[track_caller]
    pub(super) fn press(&mut self, key: &str, ctrl: bool) {
        let modifiers = if ctrl { 2 } else { 0 };
        let mut down = json!({"type": "keyDown", "key": key, "modifiers": modifiers});
        match key {
            "Enter" => (down["text"], down["windowsVirtualKeyCode"]) = (json!("\r"), json!(13)),
            "Escape" => down["windowsVirtualKeyCode"] = json!(27),
            key if !ctrl => down["text"] = json!(key),
            _ => {}
        }
        self.call("Input.dispatchKeyEvent", down);
        self.call("Input.dispatchKeyEvent", json!({"type": "keyUp", "key": key}));
    }

    /// Types a text.
    #[track_caller]
    pub(super) fn types(&mut self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    /// Makes the window so large.
    #[track_caller]
    pub(super) fn size(&mut self, width: u32, height: u32) {
        let params = json!({"width": width, "height": height, "deviceScaleFactor": 1,
            "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", params);
    }

    /// Prefers dark pages, or light ones.
    #[track_caller]
    pub(super) fn prefers(&mut self, scheme: &str) {
        let feature = json!({"name": "prefers-color-scheme", "value": scheme});
        self.call("Emulation.setEmulatedMedia", json!({"features": [feature]}));
    }

    /// Runs no script of pages from now on.
    #[track_caller]
    pub(super) fn without_script(&mut self) {
        self.call("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    }

    /// Nothing went wrong until now.
    #[track_caller]
    pub(super) fn check(&mut self) {
        self.look();
        assert!(self.faults.is_empty(), "{:?}", self.faults);
    }
}
