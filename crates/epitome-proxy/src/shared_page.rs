//! One address of the page for all proxies of a store that run beside each other.
//!
//! Invariant: whoever is first stands at the address; the others name it, and one of them takes it over
//! once it is free. An address at which somebody else stands is left alone. Nothing but the page is
//! answered there that is not let in at the proxy's own address. Called by `server`.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use epitome_page::CockpitPage;
use tokio::net::TcpListener;

/// How often somebody tries to take the address over.
const PAUSE: Duration = Duration::from_secs(2);
/// How long whoever stands at an address may take to say who that is.
const PATIENCE: Duration = Duration::from_millis(500);
/// So much of that is read, in bytes.
const MOST: u64 = 4 << 10;

/// Is told the port at which the page of a store stands.
pub type PortListener = dyn Fn(u16) + Send + Sync;

/// An address of the page that all proxies of a store share.
#[derive(Clone)]
pub struct SharedPage {
    /// A text that nobody can guess: whoever stands at one of them has to answer it.
    pub challenge: String,
    /// The ports to try, in order.
    pub ports: Vec<u16>,
    /// Is told which of them it is.
    pub chosen: Arc<PortListener>,
}

/// Where the shared page stands.
pub(crate) enum PageStand {
    /// Here, from now on.
    Here(TcpListener, SocketAddr),
    /// At another proxy of the store.
    Elsewhere(SocketAddr),
}

impl SharedPage {
    /// Stands at the first port that is free, unless the page of the store stands at one before it; none
    /// where all are taken by others.
    pub(crate) async fn stand(&self, page: &CockpitPage) -> Option<PageStand> {
        for port in &self.ports {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
            let stand = match TcpListener::bind(address).await {
                Ok(listener) => PageStand::Here(listener, address),
                Err(_) if self.stands_at(page, address).await => PageStand::Elsewhere(address),
                Err(_) => continue,
            };
            (self.chosen)(*port);
            return Some(stand);
        }
        None
    }

    /// Whether the page of the same user and store stands at an address: whoever else stands there would
    /// be handed the secret.
    async fn stands_at(&self, page: &CockpitPage, address: SocketAddr) -> bool {
        let Some(proof) = page.proof(address.port(), &self.challenge) else { return false };
        let challenge = self.challenge.clone();
        let asked = tokio::task::spawn_blocking(move || ask(address, &challenge));
        let expected = format!("x-epitome-page: {proof}");
        asked.await.is_ok_and(|head| head.is_ok_and(|it| it.lines().any(|line| line == expected)))
    }
}

/// Waits until an address is free, and takes it.
pub(crate) async fn taken_over(address: SocketAddr) -> TcpListener {
    loop {
        tokio::time::sleep(PAUSE).await;
        if let Ok(listener) = TcpListener::bind(address).await {
            return listener;
        }
    }
}

/// Asks for the icon of the page; gives the head of the answer in lower case.
fn ask(address: SocketAddr, challenge: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let ask = format!(
        "GET /epitome.svg?challenge={challenge} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(ask.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(MOST).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).to_lowercase())
}
