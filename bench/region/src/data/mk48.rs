//! `mk48`: updates that a game of ships sends to its players.

use rkyv::{Archive, Serialize};

use super::{SEED, coin};
use crate::random::Random;

/// A kind of ship.
#[derive(Archive, Serialize, Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
pub enum EntityType {
    Destroyer,
    Battleship,
    Carrier,
    Frigate,
    Torpedo,
    Cruiser,
    Corvette,
    Missile,
    Submarine,
    Hovercraft,
}

/// The position and the motion of a ship.
#[derive(Archive, Serialize, Clone, Copy, Debug)]
pub struct Transform {
    pub altitude: i8,
    pub angle: u16,
    pub position: [f32; 2],
    pub velocity: i16,
}

/// The steering of a ship.
#[derive(Archive, Serialize, Clone, Copy, Debug)]
pub struct Guidance {
    pub angle: u16,
    pub submerge: bool,
    pub velocity: i16,
}

/// A visible ship.
#[derive(Archive, Serialize, Clone, Debug)]
pub struct Contact {
    pub damage: u8,
    pub entity_id: u32,
    pub entity_type: Option<EntityType>,
    pub guidance: Guidance,
    pub player_id: Option<u16>,
    pub reloads: Vec<bool>,
    pub transform: Transform,
    pub turret_angles: Vec<u16>,
}

/// A piece of land.
#[derive(Archive, Serialize, Clone, Debug)]
pub struct TerrainUpdate {
    pub chunk_id: [i8; 2],
    pub data: Vec<u8>,
}

/// The update for one player.
#[derive(Archive, Serialize, Clone, Debug)]
pub struct Update {
    pub contacts: Vec<Contact>,
    pub score: u32,
    pub world_radius: f32,
    pub terrain_updates: Vec<TerrainUpdate>,
}

/// All updates.
#[derive(Archive, Serialize, Clone, Debug)]
pub struct Updates {
    pub updates: Vec<Update>,
}

/// For each kind: its cumulative frequency in percent, and the numbers of turrets and weapons.
const KINDS: [(EntityType, usize, usize, usize); 10] = [
    (EntityType::Destroyer, 5, 1, 20),
    (EntityType::Battleship, 6, 4, 10),
    (EntityType::Carrier, 8, 4, 16),
    (EntityType::Frigate, 11, 4, 18),
    (EntityType::Torpedo, 40, 0, 2),
    (EntityType::Cruiser, 44, 3, 28),
    (EntityType::Corvette, 46, 1, 15),
    (EntityType::Missile, 62, 2, 6),
    (EntityType::Submarine, 71, 0, 14),
    (EntityType::Hovercraft, 100, 3, 11),
];

fn velocity(random: &mut Random) -> i16 {
    match random.below(10) {
        0..8 => random.between(140, 899) as i16,
        8 => 0,
        _ => -(random.between(35, 225) as i16),
    }
}

fn contact(random: &mut Random, ships: usize) -> Contact {
    let share = random.below(100);
    let (kind, _, turrets, weapons) = KINDS[KINDS.iter().take_while(|kind| kind.1 <= share).count()];
    let visible = random.below(10) < 7;
    let below = kind == EntityType::Submarine && random.below(10) < 9;
    let ready = random.below(100);
    let aim = random.bits() as u16;
    Contact {
        damage: if visible && random.below(10) < 6 { 0 } else { random.below(200) as u8 },
        entity_id: random.below(ships) as u32,
        entity_type: visible.then_some(kind),
        guidance: Guidance { angle: random.bits() as u16, submerge: below, velocity: velocity(random) },
        player_id: visible.then(|| random.below(ships) as u16),
        reloads: (0..if visible { weapons } else { 0 }).map(|_| random.below(100) < ready).collect(),
        transform: Transform {
            altitude: if below { -(random.between(36, 120) as i8) } else { 0 },
            angle: random.bits() as u16,
            position: std::array::from_fn(|_| (random.unit() * 1500.0 - 750.0) as f32),
            velocity: velocity(random),
        },
        turret_angles: (0..if visible { turrets } else { 0 })
            .map(|_| if coin(random) { aim } else { random.bits() as u16 })
            .collect(),
    }
}

fn terrain(random: &mut Random) -> TerrainUpdate {
    let count = if random.below(50) == 0 { random.between(900, 1099) } else { random.between(3, 8) };
    let chunk_id = std::array::from_fn(|_| random.between(0, 40) as i8 - 20);
    TerrainUpdate { chunk_id, data: (0..count).map(|_| random.bits() as u8).collect() }
}

fn update(random: &mut Random) -> Update {
    let players = random.between(200, 399);
    Update {
        contacts: (0..random.between(20, 39)).map(|_| contact(random, players * 10)).collect(),
        score: (random.unit().powi(4) * 5000.0) as u32 + random.below(50) as u32,
        world_radius: (players as f32 * 15_000.0).sqrt(),
        terrain_updates: (0..random.between(3, 9)).map(|_| terrain(random)).collect(),
    }
}

/// 1,000 updates.
pub fn make() -> Updates {
    let mut random = Random::new(SEED);
    Updates { updates: (0..1_000).map(|_| update(&mut random)).collect() }
}

/// The sum that reading must return: the scores.
pub fn sum(data: &Updates) -> u64 {
    data.updates.iter().map(|update| u64::from(update.score)).sum()
}
