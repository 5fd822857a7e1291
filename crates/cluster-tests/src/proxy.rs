//! A proxy between a process and the API server, with which a test can cut the network.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The state of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// All data passes.
    Up,
    /// Connections break, and new ones are closed at once.
    Cut,
    /// Connections stay open, but nothing passes, not even the end of a connection: only timeouts
    /// detect this.
    Hangs,
}

/// A proxy on its own port. Bytes, including TLS, pass unchanged.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    network: Network,
    /// Both ends of every connection; broken ones are removed when a new one is made.
    connections: Vec<[TcpStream; 2]>,
    /// The number of connections so far.
    made: usize,
    closed: bool,
}

impl Proxy {
    pub(crate) fn start(server: u16) -> Self {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("the system gives a port");
        let port = listener.local_addr().expect("it has an address").port();
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                network: Network::Up,
                connections: Vec::new(),
                made: 0,
                closed: false,
            }),
            changed: Condvar::new(),
        });
        let acceptor = shared.clone();
        std::thread::spawn(move || acceptor.accept(&listener, server));
        Self { port, shared }
    }

    /// The port to connect to, on the loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Sets the network. Going down breaks all connections.
    pub fn set(&self, network: Network) {
        let mut state = self.shared.state();
        state.network = network;
        if network == Network::Cut {
            state.break_all();
        }
        self.shared.changed.notify_all();
    }

    /// Breaks all connections once; new ones pass.
    pub fn reset(&self) {
        self.shared.state().break_all();
    }

    /// The number of connections so far.
    pub fn connections(&self) -> usize {
        self.shared.state().made
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.closed = true;
        state.break_all();
        drop(state);
        self.shared.changed.notify_all();
        // Wakes the accepting thread, which then ends.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

impl State {
    fn break_all(&mut self) {
        for end in self.connections.drain(..).flatten() {
            // It may be broken already.
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(self: &Arc<Self>, listener: &TcpListener, server: u16) {
        for client in listener.incoming().flatten() {
            let state = self.state();
            if state.closed {
                return;
            }
            if state.network == Network::Cut {
                continue;
            }
            drop(state);
            let shared = self.clone();
            std::thread::spawn(move || shared.connect(client, server));
        }
    }

    /// Connects a client to the server once the network is up.
    fn connect(self: &Arc<Self>, client: TcpStream, server: u16) {
        self.await_passage();
        let Ok(upstream) = TcpStream::connect((Ipv4Addr::LOCALHOST, server)) else {
            return;
        };
        let ends = || Some([client.try_clone().ok()?, upstream.try_clone().ok()?]);
        let (Some(kept), Some([from, to])) = (ends(), ends()) else {
            return;
        };
        let mut state = self.state();
        if state.network == Network::Cut {
            return;
        }
        state.connections.retain(|[one, _]| one.peer_addr().is_ok());
        state.connections.push(kept);
        state.made += 1;
        drop(state);
        self.carry(client, to);
        self.carry(upstream, from);
    }

    /// Forwards one direction in its own thread.
    fn carry(self: &Arc<Self>, mut from: TcpStream, mut to: TcpStream) {
        let shared = self.clone();
        std::thread::spawn(move || {
            let mut buffer = vec![0; 64 * 1024];
            while let Ok(length @ 1..) = from.read(&mut buffer) {
                shared.await_passage();
                if to.write_all(&buffer[..length]).is_err() {
                    break;
                }
            }
            // The end of the connection is not forwarded either.
            shared.await_passage();
            let _ = to.shutdown(Shutdown::Both);
            let _ = from.shutdown(Shutdown::Both);
        });
    }

    fn await_passage(&self) {
        let mut state = self.state();
        while state.network == Network::Hangs && !state.closed {
            let changed = self.changed.wait(state);
            state = changed.unwrap_or_else(PoisonError::into_inner);
        }
    }
}
