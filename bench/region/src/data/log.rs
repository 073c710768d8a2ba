//! `log`: lines of a web server's log.

use rkyv::{Archive, Serialize};

use super::{SEED, one_of};
use crate::random::Random;

/// An IPv4 address.
#[derive(Archive, Serialize, Clone, Copy, Debug)]
pub struct Address {
    pub x0: u8,
    pub x1: u8,
    pub x2: u8,
    pub x3: u8,
}

/// A line.
#[derive(Archive, Serialize, Clone, Debug)]
pub struct Log {
    pub address: Address,
    pub identity: String,
    pub userid: String,
    pub date: String,
    pub request: String,
    pub code: u16,
    pub size: u64,
}

/// All lines.
#[derive(Archive, Serialize, Clone, Debug)]
pub struct Logs {
    pub logs: Vec<Log>,
}

const USERS: [&str; 8] = ["-", "ada", "boris", "clara", "dimitri", "emilia", "fatima", "gustav"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
const PATHS: [&str; 7] = [
    "/robots.txt",
    "/style/main.css",
    "/style/icons.min.css",
    "/images/banner.svg",
    "/images/hero.jpg",
    "/v1/session",
    "/v1/logout",
];
const PROTOCOLS: [&str; 4] = ["HTTP/1.0", "HTTP/1.1", "HTTP/2", "HTTP/3"];
const CODES: [u16; 12] = [200, 201, 204, 206, 301, 302, 304, 400, 403, 404, 500, 503];

fn log(random: &mut Random) -> Log {
    let bits = random.bits().to_le_bytes();
    let date = format!(
        "{}/{}/{}:{}:{}:{} {}{:02}00",
        random.between(1, 28),
        MONTHS[random.below(12)],
        random.between(1970, 2024),
        random.below(24),
        random.below(60),
        random.below(60),
        if random.below(2) == 0 { '+' } else { '-' },
        random.below(13),
    );
    let request = [one_of(random, &METHODS), one_of(random, &PATHS), one_of(random, &PROTOCOLS)].join(" ");
    Log {
        address: Address { x0: bits[0], x1: bits[1], x2: bits[2], x3: bits[3] },
        identity: "-".to_owned(),
        userid: one_of(random, &USERS),
        date,
        request,
        code: CODES[random.below(CODES.len())],
        size: random.below(100_000_000) as u64,
    }
}

/// 10,000 lines.
pub fn make() -> Logs {
    let mut random = Random::new(SEED);
    Logs { logs: (0..10_000).map(|_| log(&mut random)).collect() }
}

/// The sum that reading must return: addresses, codes and sizes.
pub fn sum(data: &Logs) -> u64 {
    data.logs
        .iter()
        .map(|log| part([log.address.x0, log.address.x1, log.address.x2, log.address.x3], log.code, log.size))
        .sum()
}

/// One line's part of the sum.
#[inline(always)]
pub fn part(address: [u8; 4], code: u16, size: u64) -> u64 {
    u64::from(u32::from_le_bytes(address)) + u64::from(code) + size
}
