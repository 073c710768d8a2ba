//! The Rust side of the tests between languages: publishes or takes `test::Scan` messages, or is a server or
//! a client of a service whose requests and replies both are such messages. It writes and reads their bytes
//! by hand, with the layouts of `spec/flat.md` and `spec/cdr.md`.
//!
//! ```text
//! bus_peer publish <root> <topic> flat|xcdr1 <count> [hang]  waits for a subscriber, publishes, ends/hangs
//! bus_peer take <root> <topic> flat|xcdr1 <count>            says "ready", then a line for each message
//! bus_peer serve <root> <service> flat|xcdr1 <count> [hang]  answers count requests, ends or hangs
//! bus_peer call <root> <service> flat|xcdr1 <count> [hang]   calls, says each outcome; or hangs in a call
//! ```

use std::io::Write;
use std::time::Duration;

use situ_bus::{
    Durability, Encoding, History, Node, PublisherQos, RawClient, RawPublisher, RawSample, RawServer,
    RawSubscriber, Reliability, ReplyError, Root, ServiceDescription, ServiceOptions, SubscriberQos,
    TypeDescription,
};

type Failure = Box<dyn std::error::Error>;

const SCHEMA: &str = "module test {\n  struct Scan {\n    uint32 id;\n    string<15> name;\n    \
                      sequence<uint16, 4> levels;\n    @bulk sequence<float> ranges;\n  };\n};\n";

/// `test::Scan` in C's layout.
#[repr(C)]
#[derive(Clone, Copy)]
struct Head {
    id: u32,
    name_len: u32,
    name: [u8; 16],
    levels_len: u32,
    levels: [u16; 4],
    ranges_offset: u64,
    ranges_len: u64,
}

const _: () = assert!(size_of::<Head>() == 56 && std::mem::offset_of!(Head, ranges_offset) == 40);

/// Message number `index`, with the content that both languages expect.
struct Scan {
    id: u32,
    name: String,
    levels: Vec<u16>,
    ranges: Vec<f32>,
}

impl Scan {
    fn number(index: u32) -> Self {
        Self {
            id: index,
            name: format!("scan-{index}"),
            levels: (0..index % 5).map(|level| (level * 100 + index) as u16).collect(),
            ranges: (0..index % 7 * 10).map(|range| (range + index) as f32 * 0.5).collect(),
        }
    }

    fn line(&self) -> String {
        let sum = self.ranges.iter().fold(0.0f32, |sum, range| sum + range);
        format!("{} {} {:?} {} {sum}", self.id, self.name, self.levels, self.ranges.len())
    }

    fn to_cdr(&self) -> Vec<u8> {
        let mut bytes = vec![0, 1, 0, 0];
        let word = |bytes: &mut Vec<u8>, value: usize| {
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes.extend((value as u32).to_le_bytes());
        };
        word(&mut bytes, self.id as usize);
        word(&mut bytes, self.name.len() + 1);
        bytes.extend(self.name.as_bytes());
        bytes.push(0);
        word(&mut bytes, self.levels.len());
        bytes.extend(self.levels.iter().flat_map(|level| level.to_le_bytes()));
        word(&mut bytes, self.ranges.len());
        bytes.extend(self.ranges.iter().flat_map(|range| range.to_le_bytes()));
        bytes
    }

    fn of_cdr(bytes: &[u8]) -> Option<Self> {
        let mut at = 4;
        let mut word = |align: usize, size: usize| {
            at = usize::next_multiple_of(at, align);
            let found = bytes.get(at..at + size);
            at += size;
            found
        };
        let number =
            |bytes: &[u8]| bytes.iter().rev().fold(0usize, |sum, byte| sum << 8 | usize::from(*byte));
        let id = number(word(4, 4)?) as u32;
        let len = number(word(4, 4)?);
        let name = String::from_utf8(word(1, len)?.split_last()?.1.to_vec()).ok()?;
        let len = number(word(4, 4)?);
        let levels = word(2, 2 * len)?.chunks(2).map(|level| number(level) as u16).collect();
        let len = number(word(4, 4)?);
        let ranges = word(4, 4 * len)?.chunks(4).map(|range| f32::from_bits(number(range) as u32)).collect();
        Some(Self { id, name, levels, ranges })
    }

    fn of_flat(sample: &RawSample) -> Option<Self> {
        if sample.head_in_place().len() != size_of::<Head>() {
            return None;
        }
        // SAFETY: the head has the size of this plain structure, for which any bytes are valid.
        let head = unsafe { sample.head_in_place().as_ptr().cast::<Head>().read_unaligned() };
        let begin = head.ranges_offset as usize;
        let ranges = sample.body_in_place().get(begin..begin + 4 * head.ranges_len as usize)?;
        Some(Self {
            id: head.id,
            name: String::from_utf8(head.name[..head.name_len as usize].to_vec()).ok()?,
            levels: head.levels[..head.levels_len as usize].to_vec(),
            ranges: ranges
                .chunks(4)
                .map(|range| f32::from_le_bytes(range.try_into().unwrap_or_default()))
                .collect(),
        })
    }

    fn of(sample: &RawSample) -> Result<Self, Failure> {
        let scan = match sample.encoding() {
            Encoding::Flat => Self::of_flat(sample),
            _ => Self::of_cdr(sample.body_in_place()),
        };
        Ok(scan.ok_or("its bytes are no test::Scan")?)
    }

    fn publish_flat(&self, publisher: &RawPublisher) -> Result<u64, Failure> {
        let (head, bytes) = self.to_flat();
        let mut loan = publisher.loan(head.len(), 8, bytes.len())?;
        loan.head_bytes().copy_from_slice(&head);
        loan.body_bytes().copy_from_slice(&bytes);
        Ok(loan.publish()?)
    }

    /// Its head and its body.
    fn to_bytes(&self, encoding: Encoding) -> (Vec<u8>, Vec<u8>) {
        if encoding == Encoding::Flat { self.to_flat() } else { (Vec::new(), self.to_cdr()) }
    }

    fn to_flat(&self) -> (Vec<u8>, Vec<u8>) {
        let bytes: Vec<u8> = self.ranges.iter().flat_map(|range| range.to_le_bytes()).collect();
        let mut head = Head {
            id: self.id,
            name_len: self.name.len() as u32,
            name: [0; 16],
            levels_len: self.levels.len() as u32,
            levels: [0; 4],
            ranges_offset: 0,
            ranges_len: self.ranges.len() as u64,
        };
        head.name[..self.name.len()].copy_from_slice(self.name.as_bytes());
        head.levels[..self.levels.len()].copy_from_slice(&self.levels);
        // The padding between members is never read.
        let mut plain = vec![0; size_of::<Head>()];
        // SAFETY: there is room for a head.
        unsafe { plain.as_mut_ptr().cast::<Head>().write_unaligned(head) };
        (plain, bytes)
    }

    fn publish_cdr(&self, publisher: &RawPublisher) -> Result<u64, Failure> {
        let bytes = self.to_cdr();
        let mut loan = publisher.loan(0, 1, bytes.len())?;
        loan.body_bytes().copy_from_slice(&bytes);
        Ok(loan.publish()?)
    }
}

fn description(encoding: Encoding) -> TypeDescription {
    TypeDescription {
        name: "test::Scan".to_owned(),
        schema: SCHEMA.to_owned(),
        schema_hash: 0x5ca9_5ca9_5ca9_5ca9,
        layout_hash: if encoding == Encoding::Flat { 0x1a0d_1a0d_1a0d_1a0d } else { 0 },
        encoding,
        fixed_size: 0,
        user_header_size: 0,
    }
}

fn publish(node: &Node, topic: &str, encoding: Encoding, count: u32, hang: bool) -> Result<(), Failure> {
    let qos = PublisherQos {
        reliability: Reliability::Reliable,
        durability: Durability::TransientLocal,
        ..Default::default()
    };
    let publisher = RawPublisher::create(node, topic, &description(encoding), qos)?;
    while publisher.subscribers() == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    for index in 0..count {
        match encoding {
            Encoding::Flat => Scan::number(index).publish_flat(&publisher)?,
            _ => Scan::number(index).publish_cdr(&publisher)?,
        };
    }
    println!("published");
    if hang {
        loop {
            std::thread::park();
        }
    }
    Ok(())
}

fn take(node: &Node, topic: &str, encoding: Encoding, count: u32) -> Result<(), Failure> {
    let qos =
        SubscriberQos { reliability: Reliability::Reliable, history: History::KeepAll, ..Default::default() };
    let subscriber = RawSubscriber::create(node, topic, &description(encoding), qos)?;
    println!("ready");
    std::io::stdout().flush()?;
    let mut taken = 0;
    while taken < count {
        if !subscriber.wait(Some(Duration::from_secs(20))) {
            return Err("no message came".into());
        }
        while let Some(sample) = subscriber.take()? {
            println!("{} {}", sample.sequence(), Scan::of(&sample)?.line());
            taken += 1;
        }
    }
    Ok(())
}

/// What a server does with a request of this number: answers with the next scan, unless it is one of these.
const REFUSED: u32 = 100;
const STREAMED: u32 = 101;
const IGNORED: u32 = 102;

fn service(encoding: Encoding) -> ServiceDescription {
    ServiceDescription { request: description(encoding), reply: description(encoding) }
}

fn serve(node: &Node, service_name: &str, encoding: Encoding, count: u32, hang: bool) -> Result<(), Failure> {
    let server = RawServer::create(node, service_name, &service(encoding), &ServiceOptions::default())?;
    println!("ready");
    for _ in 0..count {
        if !server.wait(Some(Duration::from_secs(60))) {
            return Err("no request came".into());
        }
        let Some(request) = server.take()? else { continue };
        let (id, number) = (request.id(), Scan::of(request.sample())?.id);
        let lend = |number: u32| -> Result<_, Failure> {
            let (head, body) = Scan::number(number).to_bytes(encoding);
            let mut loan = server.loan(&id, head.len(), 8, body.len())?;
            loan.head_bytes().copy_from_slice(&head);
            loan.body_bytes().copy_from_slice(&body);
            Ok(loan)
        };
        match number {
            REFUSED => server.refuse(&id, 7, "no scan 100")?,
            STREAMED => {
                for part in 1..4 {
                    lend(part)?.send_part()?;
                }
                server.end(&id)?;
            }
            IGNORED => println!("ignored"),
            other => lend(other + 1)?.send()?,
        }
    }
    println!("served");
    if hang {
        loop {
            std::thread::park();
        }
    }
    Ok(())
}

fn call(node: &Node, service_name: &str, encoding: Encoding, count: u32, hang: bool) -> Result<(), Failure> {
    let client = RawClient::create(node, service_name, &service(encoding), &ServiceOptions::default())?;
    if !client.wait_for_server(Some(Duration::from_secs(60))) {
        return Err("there is no server".into());
    }
    let mut calls = Vec::new();
    for number in 0..count {
        let (head, body) = Scan::number(number).to_bytes(encoding);
        let mut loan = client.loan(head.len(), 8, body.len())?;
        loan.head_bytes().copy_from_slice(&head);
        loan.body_bytes().copy_from_slice(&body);
        calls.push(loan.send(Some(Duration::from_secs(60)))?);
    }
    println!("called");
    if hang {
        loop {
            std::thread::park();
        }
    }
    for (number, call) in calls.into_iter().enumerate() {
        loop {
            match client.receive_of(call, None) {
                Ok(Some(reply)) if reply.has_content() => {
                    println!("{number} {}", Scan::of(reply.sample())?.line());
                }
                Ok(_) => println!("{number} end"),
                Err(ReplyError::Refused { code, text, .. }) => println!("{number} refused {code} {text}"),
                Err(ReplyError::ServerGone { .. }) => println!("{number} server gone"),
                Err(error) => println!("{number} {error}"),
            }
            if !client.is_under_way(call) {
                break;
            }
        }
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let texts: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [what, root, topic, encoding, count, rest @ ..] = &texts[..] else {
        let usage = "usage: bus_peer publish|take|serve|call <root> <topic> flat|xcdr1 <count> [hang]";
        return Err(usage.into());
    };
    let node = Node::in_root("rust-peer", Root::at(root, None))?;
    let encoding = if *encoding == "flat" { Encoding::Flat } else { Encoding::Xcdr1 };
    let count = count.parse()?;
    match *what {
        "publish" => publish(&node, topic, encoding, count, rest.contains(&"hang")),
        "serve" => serve(&node, topic, encoding, count, rest.contains(&"hang")),
        "call" => call(&node, topic, encoding, count, rest.contains(&"hang")),
        _ => take(&node, topic, encoding, count),
    }
}
