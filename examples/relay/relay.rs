//! A region that is passed from process to process: `relay a` builds it, `relay b` changes it, `relay c`
//! changes and reads it. Each may also be the program in C++ (relay.cpp).

use std::error::Error;
use std::thread::sleep;
use std::time::Duration;

use situ::bus::{RegionPublisher, RegionSample, RegionSubscriber};
use situ::prelude::*;
use situ_examples::examples::{Character, CharacterMut, CharacterRef, Item, Point, Skill};

/// FNV-1a, for comparing by eye.
fn hash(bytes: &[u8]) -> u64 {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, fold)
}

fn await_next(publisher: &RegionPublisher<Character>) {
    while publisher.raw().subscribers() == 0 {
        sleep(Duration::from_millis(10));
    }
}

fn take(subscriber: &RegionSubscriber<Character>) -> Result<RegionSample<Character>, Box<dyn Error>> {
    Ok(subscriber.recv(Some(Duration::from_secs(20)))?.ok_or("nothing came")?)
}

/// Builds a character in shared memory.
fn build(node: &Node) -> Result<(), Box<dyn Error>> {
    let publisher = node.region_publisher::<Character>("relay/built").reliable().create()?;
    await_next(&publisher);
    let mut loan = publisher.loan()?;
    let mut c = loan.root_mut();
    c.name().set("Hero")?;
    *c.level() = 1;
    c.skills().push(Skill { id: 1054, level: 3 })?;
    c.skills().push(Skill { id: 7, level: 1 })?;
    for id in [30, 10, 20] {
        c.items().insert(id, Item { number: 1, uuid: id * 100 })?;
    }
    println!("a built {:016x}", hash(&loan.canonical()));
    loan.publish()?;
    Ok(())
}

/// Takes it in place, and continues with a copy of it that is a message of its own.
fn mutate(node: &Node) -> Result<(), Box<dyn Error>> {
    let subscriber = node.region_subscriber::<Character>("relay/built").reliable().create()?;
    let publisher = node.region_publisher::<Character>("relay/mutated").reliable().create()?;
    await_next(&publisher);
    let sample = take(&subscriber)?;
    println!("b took {:016x}", hash(&sample.to_region()?.canonical()));
    let mut loan = publisher.edit(&sample)?;
    let mut c = loan.root_mut();
    c.items().remove(10);
    *c.level() += 1;
    // More than the slot has memory for: it grows in place.
    for i in 0..1000_u16 {
        c.path().push(Point { x: f32::from(i), y: 0.0, z: 0.0 })?;
    }
    println!("b made {:016x}", hash(&loan.canonical()));
    loan.publish()?;
    Ok(())
}

/// Takes the result, changes a region of its own, and reads it.
fn read(node: &Node) -> Result<(), Box<dyn Error>> {
    let subscriber = node.region_subscriber::<Character>("relay/mutated").reliable().create()?;
    let sample = take(&subscriber)?;
    let mut region = sample.to_region()?;
    println!("c took {:016x}", hash(&region.canonical()));
    let mut c = region.root_mut();
    c.name().push_str(" the Second")?;
    c.skills().remove(1);
    *c.level() += 1;
    println!("c made {:016x}", hash(&region.canonical()));
    let c = region.root();
    println!(
        "{}, level {}, {} points, {} skills, {} items",
        c.name().as_str(),
        *c.level(),
        c.path().len(),
        c.skills().len(),
        c.items().len()
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let stage = std::env::args().nth(1).unwrap_or_default();
    let node = Node::new(&format!("relay_{stage}"))?;
    match stage.as_str() {
        "a" => build(&node),
        "b" => mutate(&node),
        "c" => read(&node),
        _ => Err("say a, b or c".into()),
    }
}
