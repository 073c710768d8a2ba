//! `minecraft_savedata`: players of a game of blocks.

use rkyv::{Archive, Serialize};

use super::{SEED, coin, maybe, one_of, some_of};
use crate::random::Random;

/// A player's mode of the game.
#[derive(Archive, Serialize, Clone, Copy, Debug, PartialEq)]
#[rkyv(derive(Clone, Copy))]
#[repr(u8)]
pub enum GameType {
    Survival,
    Creative,
    Adventure,
    Spectator,
}

/// An item in an inventory.
#[derive(Archive, Serialize, Clone, Debug)]
pub struct Item {
    pub count: i8,
    pub slot: u8,
    pub id: String,
}

/// A player's abilities.
#[derive(Archive, Serialize, Clone, Copy, Debug)]
pub struct Abilities {
    pub walk_speed: f32,
    pub fly_speed: f32,
    pub may_fly: bool,
    pub flying: bool,
    pub invulnerable: bool,
    pub may_build: bool,
    pub instabuild: bool,
}

/// A living entity.
#[derive(Archive, Serialize, Clone, Debug)]
pub struct Entity {
    pub id: String,
    pub pos: [f64; 3],
    pub motion: [f64; 3],
    pub rotation: [f32; 2],
    pub fall_distance: f32,
    pub fire: u16,
    pub air: u16,
    pub on_ground: bool,
    pub no_gravity: bool,
    pub invulnerable: bool,
    pub portal_cooldown: i32,
    pub uuid: [u32; 4],
    pub custom_name: Option<String>,
    pub custom_name_visible: bool,
    pub silent: bool,
    pub glowing: bool,
}

/// The recipes of a player.
#[derive(Archive, Serialize, Clone, Debug)]
pub struct RecipeBook {
    pub recipes: Vec<String>,
    pub to_be_displayed: Vec<String>,
    /// The settings of four recipe books: whether each filters, and whether it is open.
    pub flags: [bool; 8],
}

/// The vehicle of a player.
#[derive(Archive, Serialize, Clone, Debug)]
pub struct Vehicle {
    pub uuid: [u32; 4],
    pub entity: Entity,
}

/// A player.
#[derive(Archive, Serialize, Clone, Debug)]
pub struct Player {
    pub game_type: GameType,
    pub previous_game_type: GameType,
    pub score: i64,
    pub dimension: String,
    pub selected_item_slot: u32,
    pub selected_item: Item,
    pub spawn_dimension: Option<String>,
    pub spawn: [i64; 3],
    pub spawn_forced: Option<bool>,
    pub sleep_timer: u16,
    pub food_exhaustion_level: f32,
    pub food_saturation_level: f32,
    pub food_tick_timer: u32,
    pub xp_level: u32,
    pub xp_p: f32,
    pub xp_total: i32,
    pub xp_seed: i32,
    pub inventory: Vec<Item>,
    pub ender_items: Vec<Item>,
    pub abilities: Abilities,
    pub entered_nether_position: Option<[f64; 3]>,
    pub root_vehicle: Option<Vehicle>,
    pub shoulder_entity_left: Option<Entity>,
    pub shoulder_entity_right: Option<Entity>,
    pub seen_credits: bool,
    pub recipe_book: RecipeBook,
}

/// All players.
#[derive(Archive, Serialize, Clone, Debug)]
pub struct Players {
    pub players: Vec<Player>,
}

const THINGS: [&str; 8] = ["soil", "granite", "hatchet", "clay", "pebbles", "spade", "helmet", "bread"];
const BEASTS: [&str; 8] = ["goat", "horse", "ghoul", "witch", "slime", "phantom", "fox", "wolf"];
const NAMES: [&str; 8] = ["misty", "baron", "pixel", "oscar", "willow", "shade", "sunny", "rufus"];
const WORLDS: [&str; 3] = ["surface", "caverns", "void"];
const RECIPES: [&str; 8] =
    ["lantern", "fence", "hopper", "bookshelf", "furnace", "ladder", "stone bricks", "compass"];

fn item(random: &mut Random) -> Item {
    Item { count: random.bits() as i8, slot: random.bits() as u8, id: one_of(random, &THINGS) }
}

fn items(random: &mut Random, end: usize) -> Vec<Item> {
    (0..random.below(end)).map(|_| item(random)).collect()
}

fn unit(random: &mut Random) -> f32 {
    random.unit() as f32
}

fn point(random: &mut Random) -> [f64; 3] {
    std::array::from_fn(|_| random.unit())
}

fn uuid(random: &mut Random) -> [u32; 4] {
    std::array::from_fn(|_| random.bits() as u32)
}

fn game_type(random: &mut Random) -> GameType {
    [GameType::Survival, GameType::Creative, GameType::Adventure, GameType::Spectator][random.below(4)]
}

fn entity(random: &mut Random) -> Entity {
    Entity {
        id: one_of(random, &BEASTS),
        pos: point(random),
        motion: point(random),
        rotation: [unit(random), unit(random)],
        fall_distance: unit(random),
        fire: random.bits() as u16,
        air: random.bits() as u16,
        on_ground: coin(random),
        no_gravity: coin(random),
        invulnerable: coin(random),
        portal_cooldown: random.bits() as i32,
        uuid: uuid(random),
        custom_name: maybe(random, |random| one_of(random, &NAMES)),
        custom_name_visible: coin(random),
        silent: coin(random),
        glowing: coin(random),
    }
}

fn player(random: &mut Random) -> Player {
    Player {
        game_type: game_type(random),
        previous_game_type: game_type(random),
        score: random.bits() as i64,
        dimension: one_of(random, &WORLDS),
        selected_item_slot: random.bits() as u32,
        selected_item: item(random),
        spawn_dimension: maybe(random, |random| one_of(random, &WORLDS)),
        spawn: std::array::from_fn(|_| random.bits() as i64),
        spawn_forced: maybe(random, coin),
        sleep_timer: random.bits() as u16,
        food_exhaustion_level: unit(random),
        food_saturation_level: unit(random),
        food_tick_timer: random.bits() as u32,
        xp_level: random.bits() as u32,
        xp_p: unit(random),
        xp_total: random.bits() as i32,
        xp_seed: random.bits() as i32,
        inventory: items(random, 40),
        ender_items: items(random, 27),
        abilities: Abilities {
            walk_speed: unit(random),
            fly_speed: unit(random),
            may_fly: coin(random),
            flying: coin(random),
            invulnerable: coin(random),
            may_build: coin(random),
            instabuild: coin(random),
        },
        entered_nether_position: maybe(random, point),
        root_vehicle: maybe(random, |random| Vehicle { uuid: uuid(random), entity: entity(random) }),
        shoulder_entity_left: maybe(random, entity),
        shoulder_entity_right: maybe(random, entity),
        seen_credits: coin(random),
        recipe_book: RecipeBook {
            recipes: some_of(random, 30, &RECIPES),
            to_be_displayed: some_of(random, 10, &RECIPES),
            flags: std::array::from_fn(|_| coin(random)),
        },
    }
}

/// 500 players.
pub fn make() -> Players {
    let mut random = Random::new(SEED);
    Players { players: (0..500).map(|_| player(&mut random)).collect() }
}

/// The sum that reading must return: the mode of each player.
pub fn sum(data: &Players) -> u64 {
    data.players.iter().map(|player| player.game_type as u64).sum()
}
