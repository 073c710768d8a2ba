//! The bytes of a connection: how many it has accepted, and for how long it accepts none.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A connection that counts what is written to it.
#[derive(Debug)]
pub struct Stream {
    socket: TcpStream,
    written: u64,
}

impl Stream {
    /// Nothing is written yet.
    pub fn new(socket: TcpStream) -> Self {
        Self { socket, written: 0 }
    }

    /// The connection, to wait for it.
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// The bytes that it has accepted.
    pub fn written(&self) -> u64 {
        self.written
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.socket.read(into)
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.socket.write(bytes)?;
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// Whether a connection has bytes that it does not accept. A large message over a slow connection takes long,
/// but some of its bytes are accepted all the time.
#[derive(Debug, Default)]
pub struct Stall {
    /// When the last byte was accepted, and how many were by then.
    since: Option<(Instant, u64)>,
}

impl Stall {
    /// The connection does not accept all bytes. Returns for how long it has accepted none.
    pub fn lasts(&mut self, now: Instant, written: u64) -> Duration {
        match self.since {
            Some((since, before)) if before == written => now - since,
            _ => {
                self.since = Some((now, written));
                Duration::ZERO
            }
        }
    }

    /// The connection has accepted all bytes. Returns whether it did not before.
    pub fn end(&mut self) -> bool {
        self.since.take().is_some()
    }

    /// Whether there are bytes that it does not accept.
    pub fn is_on(&self) -> bool {
        self.since.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_accepts_some_bytes_is_slow_and_not_dead() {
        let begin = Instant::now();
        let at = |seconds: u64| begin + Duration::from_secs(seconds);
        let mut stall = Stall::default();
        assert!(!stall.is_on());
        assert_eq!(stall.lasts(at(0), 100), Duration::ZERO);
        assert_eq!(stall.lasts(at(29), 100), Duration::from_secs(29));
        assert_eq!(stall.lasts(at(30), 101), Duration::ZERO);
        assert_eq!(stall.lasts(at(70), 101), Duration::from_secs(40));
        assert!(stall.is_on() && stall.end());
        assert!(!stall.is_on() && !stall.end());
        // The next time, what was accepted before does not count.
        assert_eq!(stall.lasts(at(200), 101), Duration::ZERO);
    }
}
