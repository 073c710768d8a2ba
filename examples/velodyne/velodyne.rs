//! Publishes the point clouds of a Velodyne VLP-16 from a capture of its packets.
//!
//! `velodyne capture.pcap` publishes `velodyne/points`: one cloud for each turn of the head. A cloud is
//! decoded directly into its message in shared memory.

mod pcap;
mod vlp16;

use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::time::Duration;

use pcap::Pcap;
use situ::prelude::*;
use situ_examples::situ_::common::Time;
use situ_examples::situ_::sensor::{PointCloud2, PointCloud2BulkLengths, PointField, PointFieldType};
use vlp16::{PORT, Packet};

/// More packets than a turn of the slowest speed, 300 a minute, has (151).
const MAX_PACKETS: usize = 400;
/// The size of a point: the fields below, and what aligns them.
const POINT: usize = 24;
const FIELDS: [(&str, u32, PointFieldType); 6] = [
    ("x", 0, PointFieldType::FLOAT32),
    ("y", 4, PointFieldType::FLOAT32),
    ("z", 8, PointFieldType::FLOAT32),
    ("intensity", 12, PointFieldType::FLOAT32),
    ("ring", 16, PointFieldType::UINT16),
    ("time", 20, PointFieldType::FLOAT32),
];

/// Publishes the packets of a turn as one cloud. Each packet has its time, in nanoseconds since 1970.
fn publish(publisher: &Publisher<PointCloud2>, turn: &[(u64, Packet)]) -> Result<usize, Box<dyn Error>> {
    let Some((begin_ns, _)) = turn.first() else { return Ok(0) };
    let number: usize = turn.iter().map(|(_, packet)| packet.point_count()).sum();
    let mut cloud = publisher.loan_with(PointCloud2BulkLengths { data: number * POINT })?;
    cloud.header.stamp = Time::from_nanos(i64::try_from(*begin_ns)?)?;
    cloud.header.frame_id.try_assign("velodyne")?;
    (cloud.height, cloud.width) = (1, u32::try_from(number)?);
    for (name, offset, datatype) in FIELDS {
        let mut field = PointField { offset, datatype, ..PointField::default() };
        field.name.try_assign(name)?;
        cloud.fields.try_push(field)?;
    }
    (cloud.point_step, cloud.row_step) = (POINT as u32, u32::try_from(number * POINT)?);
    cloud.is_dense = true;
    let (places, _) = cloud.bulk_mut(|cloud| &cloud.data).as_chunks_mut::<POINT>();
    let mut places = places.iter_mut();
    for (at_ns, packet) in turn {
        let since_begin = at_ns.saturating_sub(*begin_ns) as f64 / 1e9;
        for (point, place) in packet.points().zip(&mut places) {
            let [x, y, z] = point.position;
            let time = (since_begin + point.seconds) as f32;
            for (offset, value) in [(0, x), (4, y), (8, z), (12, f32::from(point.reflectivity)), (20, time)] {
                place[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
            }
            place[16..18].copy_from_slice(&point.ring.to_le_bytes());
        }
    }
    cloud.publish()?;
    Ok(number)
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: velodyne FILE.pcap")?;
    let file = File::open(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut capture = Pcap::new(BufReader::new(file))?;

    let node = Node::new("velodyne")?;
    let publisher = node.publisher::<PointCloud2>("velodyne/points").reliable().create()?;
    while publisher.raw().subscribers() == 0 {
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut turn: Vec<(u64, Packet)> = Vec::new();
    let finish = |turn: &[(u64, Packet)]| -> Result<(), Box<dyn Error>> {
        println!("published {} points of {} packets", publish(&publisher, turn)?, turn.len());
        Ok(())
    };
    while let Some(datagram) = capture.next_datagram()? {
        if datagram.port != PORT {
            continue;
        }
        let packet = match Packet::new(datagram.content) {
            Ok(packet) => packet,
            Err(error) => {
                eprintln!("skipped: {error}");
                continue;
            }
        };
        let is_next = turn.last().is_some_and(|(_, last)| packet.first_azimuth() < last.first_azimuth());
        if is_next || turn.len() == MAX_PACKETS {
            finish(&turn)?;
            turn.clear();
        }
        turn.push((datagram.at_ns, packet));
    }
    if !turn.is_empty() {
        finish(&turn)?;
    }
    Ok(())
}
