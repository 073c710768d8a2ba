//! Rings of bridges: each message comes to each machine once, and no message comes back.

use std::time::Duration;

use crate::common::{Machine, Setup, meet, publish, string, take, until};
use situ_bus::PublisherQos;

const STRING: &str = "std_msgs::msg::String";

/// Lets messages that should not come have time to come.
const AFTERWARDS: Duration = Duration::from_millis(500);

#[test]
fn three_bridges_in_a_ring() {
    let a = Machine::listening();
    let b = Machine::connected(&a);
    let connect = [a.locators.clone(), b.locators.clone()].concat();
    let c = Machine::new(Setup { connect, ..Setup::default() });
    let machines = [&a, &b, &c];
    until("each bridge sees the two others", || machines.iter().all(|it| it.status().bridges.len() == 2));
    let publishers: Vec<_> =
        machines.iter().map(|it| it.publisher("chatter", STRING, PublisherQos::default())).collect();
    let subscribers: Vec<_> = machines.iter().map(|it| it.subscriber("chatter", STRING)).collect();
    meet(&publishers, &subscribers);
    let sent = |machine: &Machine| -> u64 {
        let crossings = machine.status().crossings;
        crossings.iter().filter(|it| it.way == situ_bridge::Way::Out).map(|it| it.counts.messages).sum()
    };
    std::thread::sleep(AFTERWARDS);
    let before = machines.map(sent);
    for round in 0..5 {
        for (number, publisher) in publishers.iter().enumerate() {
            let text = string(&format!("{round} of {number}"));
            publish(publisher, &[], &text);
            for subscriber in &subscribers {
                assert_eq!(take(subscriber).1, text);
            }
        }
    }
    std::thread::sleep(AFTERWARDS);
    assert!(subscribers.iter().all(|it| it.take().unwrap().is_none()), "a message has come twice");
    let after = machines.map(sent);
    let each: Vec<u64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
    assert_eq!(each, [5; 3], "each bridge sends what was published on its machine, and nothing else");
}

/// Three machines with two bridges each: each pair of machines has a network of its own.
#[test]
fn six_bridges_in_a_ring_of_networks() {
    let a = Machine::listening();
    let b = Machine::connected(&a);
    let b2 = Machine::on(b.root.clone(), None, Setup::default());
    let c = Machine::connected(&b2);
    let c2 = Machine::on(c.root.clone(), None, Setup::default());
    let a2 = Machine::on(a.root.clone(), None, Setup { connect: c2.locators.clone(), ..Setup::default() });
    let all = [&a, &b, &b2, &c, &c2, &a2];
    until("each bridge sees one other", || all.iter().all(|it| it.status().bridges.len() == 1));
    let machines = [&a, &b, &c];
    let publishers: Vec<_> =
        machines.iter().map(|it| it.publisher("chatter", STRING, PublisherQos::default())).collect();
    let subscribers: Vec<_> = machines.iter().map(|it| it.subscriber("chatter", STRING)).collect();
    meet(&publishers, &subscribers);
    for (number, publisher) in publishers.iter().enumerate() {
        let text = string(&format!("of {number}"));
        publish(publisher, &[], &text);
        for subscriber in &subscribers {
            assert_eq!(take(subscriber).1, text);
        }
    }
    std::thread::sleep(AFTERWARDS);
    assert!(subscribers.iter().all(|it| it.take().unwrap().is_none()), "a message has come twice");
}

/// Two bridges of one machine on one network: their own messages do not come back.
#[test]
fn two_bridges_of_one_root() {
    let a = Machine::listening();
    let a2 = Machine::on(a.root.clone(), None, Setup { connect: a.locators.clone(), ..Setup::default() });
    until("they see each other", || a.status().bridges.len() == 1 && a2.status().bridges.len() == 1);
    let publisher = a.publisher("chatter", STRING, PublisherQos::default());
    let subscriber = a.subscriber("chatter", STRING);
    until("a warning", || a.warnings().iter().any(|text| text.contains("another bridge of the same root")));
    publish(&publisher, &[], &string("once"));
    assert_eq!(take(&subscriber).1, string("once"));
    std::thread::sleep(AFTERWARDS);
    assert!(subscriber.take().unwrap().is_none());
}
