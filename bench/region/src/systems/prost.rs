//! prost 0.14: protobuf messages, decoded into ordinary structs. The messages are declared here as
//! `prost-build` would declare them.

use std::collections::BTreeMap;
use std::hint::black_box;

use prost::Message;

use super::{NoUpdate, NoValidate, Set};
use crate::character::{self, Source, changes, expect_sum, sources};
use crate::character::{sum_f32, sum_item, sum_text};
use crate::data::{log, mesh, minecraft, mk48};
use crate::suite::{Aligned, Outcome, Suite, sizes, timed};

macro_rules! message {
    ($name:ident { $($(#[$attribute:meta])* $member:ident: $type:ty),* $(,)? }) => {
        #[derive(Clone, PartialEq, ::prost::Message)]
        struct $name { $($(#[$attribute])* $member: $type),* }
    };
}

message!(Skill {
    #[prost(uint32, tag = "1")]
    id: u32,
    #[prost(uint32, tag = "2")]
    level: u32
});
message!(Item {
    #[prost(uint32, tag = "1")]
    id: u32,
    #[prost(uint32, tag = "2")]
    number: u32,
    #[prost(uint64, tag = "3")]
    uuid: u64,
    #[prost(uint64, tag = "4")]
    timestamp: u64,
});
message!(Vector3 {
    #[prost(float, tag = "1")]
    x: f32,
    #[prost(float, tag = "2")]
    y: f32,
    #[prost(float, tag = "3")]
    z: f32
});
message!(Equip {
    #[prost(message, optional, tag = "1")] base: Option<Item>,
    #[prost(uint32, tag = "2")] level: u32,
    #[prost(float, repeated, tag = "3")] attributes: Vec<f32>,
});
message!(Character {
    #[prost(uint64, tag = "1")] id: u64,
    #[prost(string, tag = "2")] name: String,
    #[prost(uint32, tag = "3")] level: u32,
    #[prost(float, tag = "4")] healthpoint: f32,
    #[prost(float, tag = "5")] manapoint: f32,
    #[prost(float, tag = "6")] speed: f32,
    #[prost(message, optional, tag = "7")] pos: Option<Vector3>,
    #[prost(btree_map = "uint64, message", tag = "8")] items: BTreeMap<u64, Item>,
    #[prost(message, repeated, tag = "9")] path: Vec<Vector3>,
    #[prost(float, repeated, tag = "10")] attributes: Vec<f32>,
    #[prost(message, repeated, tag = "11")] equips: Vec<Equip>,
    #[prost(message, repeated, tag = "12")] skills: Vec<Skill>,
});

message!(Address {
    #[prost(uint32, tag = "1")]
    x0: u32,
    #[prost(uint32, tag = "2")]
    x1: u32,
    #[prost(uint32, tag = "3")]
    x2: u32,
    #[prost(uint32, tag = "4")]
    x3: u32,
});
message!(Log {
    #[prost(message, optional, tag = "1")] address: Option<Address>,
    #[prost(string, tag = "2")] identity: String,
    #[prost(string, tag = "3")] userid: String,
    #[prost(string, tag = "4")] date: String,
    #[prost(string, tag = "5")] request: String,
    #[prost(uint32, tag = "6")] code: u32,
    #[prost(uint64, tag = "7")] size: u64,
});
message!(Logs { #[prost(message, repeated, tag = "1")] logs: Vec<Log> });
message!(Triangle {
    #[prost(message, optional, tag = "1")] v0: Option<Vector3>,
    #[prost(message, optional, tag = "2")] v1: Option<Vector3>,
    #[prost(message, optional, tag = "3")] v2: Option<Vector3>,
    #[prost(message, optional, tag = "4")] normal: Option<Vector3>,
});
message!(Mesh { #[prost(message, repeated, tag = "1")] triangles: Vec<Triangle> });

message!(Thing {
    #[prost(int32, tag = "1")]
    count: i32,
    #[prost(uint32, tag = "2")]
    slot: u32,
    #[prost(string, tag = "3")]
    id: String,
});
message!(Abilities {
    #[prost(float, tag = "1")]
    walk_speed: f32,
    #[prost(float, tag = "2")]
    fly_speed: f32,
    #[prost(bool, tag = "3")]
    may_fly: bool,
    #[prost(bool, tag = "4")]
    flying: bool,
    #[prost(bool, tag = "5")]
    invulnerable: bool,
    #[prost(bool, tag = "6")]
    may_build: bool,
    #[prost(bool, tag = "7")]
    instabuild: bool,
});
message!(Entity {
    #[prost(string, tag = "1")] id: String,
    #[prost(double, repeated, tag = "2")] pos: Vec<f64>,
    #[prost(double, repeated, tag = "3")] motion: Vec<f64>,
    #[prost(float, repeated, tag = "4")] rotation: Vec<f32>,
    #[prost(float, tag = "5")] fall_distance: f32,
    #[prost(uint32, tag = "6")] fire: u32,
    #[prost(uint32, tag = "7")] air: u32,
    #[prost(bool, tag = "8")] on_ground: bool,
    #[prost(bool, tag = "9")] no_gravity: bool,
    #[prost(bool, tag = "10")] invulnerable: bool,
    #[prost(int32, tag = "11")] portal_cooldown: i32,
    #[prost(uint32, repeated, tag = "12")] uuid: Vec<u32>,
    #[prost(string, optional, tag = "13")] custom_name: Option<String>,
    #[prost(bool, tag = "14")] custom_name_visible: bool,
    #[prost(bool, tag = "15")] silent: bool,
    #[prost(bool, tag = "16")] glowing: bool,
});
message!(RecipeBook {
    #[prost(string, repeated, tag = "1")] recipes: Vec<String>,
    #[prost(string, repeated, tag = "2")] to_be_displayed: Vec<String>,
    #[prost(bool, repeated, tag = "3")] flags: Vec<bool>,
});
message!(Vehicle {
    #[prost(uint32, repeated, tag = "1")] uuid: Vec<u32>,
    #[prost(message, optional, tag = "2")] entity: Option<Entity>,
});
message!(Player {
    #[prost(uint32, tag = "1")] game_type: u32,
    #[prost(uint32, tag = "2")] previous_game_type: u32,
    #[prost(int64, tag = "3")] score: i64,
    #[prost(string, tag = "4")] dimension: String,
    #[prost(uint32, tag = "5")] selected_item_slot: u32,
    #[prost(message, optional, tag = "6")] selected_item: Option<Thing>,
    #[prost(string, optional, tag = "7")] spawn_dimension: Option<String>,
    #[prost(int64, repeated, tag = "8")] spawn: Vec<i64>,
    #[prost(bool, optional, tag = "11")] spawn_forced: Option<bool>,
    #[prost(uint32, tag = "12")] sleep_timer: u32,
    #[prost(float, tag = "13")] food_exhaustion_level: f32,
    #[prost(float, tag = "14")] food_saturation_level: f32,
    #[prost(uint32, tag = "15")] food_tick_timer: u32,
    #[prost(uint32, tag = "16")] xp_level: u32,
    #[prost(float, tag = "17")] xp_p: f32,
    #[prost(int32, tag = "18")] xp_total: i32,
    #[prost(int32, tag = "19")] xp_seed: i32,
    #[prost(message, repeated, tag = "20")] inventory: Vec<Thing>,
    #[prost(message, repeated, tag = "21")] ender_items: Vec<Thing>,
    #[prost(message, optional, tag = "22")] abilities: Option<Abilities>,
    #[prost(double, repeated, tag = "23")] entered_nether_position: Vec<f64>,
    #[prost(message, optional, tag = "24")] root_vehicle: Option<Vehicle>,
    #[prost(message, optional, tag = "25")] shoulder_entity_left: Option<Entity>,
    #[prost(message, optional, tag = "26")] shoulder_entity_right: Option<Entity>,
    #[prost(bool, tag = "27")] seen_credits: bool,
    #[prost(message, optional, tag = "28")] recipe_book: Option<RecipeBook>,
});
message!(Players { #[prost(message, repeated, tag = "1")] players: Vec<Player> });

message!(Transform {
    #[prost(sint32, tag = "1")] altitude: i32,
    #[prost(uint32, tag = "2")] angle: u32,
    #[prost(float, repeated, tag = "3")] position: Vec<f32>,
    #[prost(sint32, tag = "4")] velocity: i32,
});
message!(Guidance {
    #[prost(uint32, tag = "1")]
    angle: u32,
    #[prost(bool, tag = "2")]
    submerge: bool,
    #[prost(sint32, tag = "3")]
    velocity: i32,
});
message!(Contact {
    #[prost(uint32, tag = "1")] damage: u32,
    #[prost(uint32, tag = "2")] entity_id: u32,
    #[prost(uint32, optional, tag = "3")] entity_type: Option<u32>,
    #[prost(message, optional, tag = "4")] guidance: Option<Guidance>,
    #[prost(uint32, optional, tag = "5")] player_id: Option<u32>,
    #[prost(bool, repeated, tag = "6")] reloads: Vec<bool>,
    #[prost(message, optional, tag = "7")] transform: Option<Transform>,
    #[prost(uint32, repeated, tag = "8")] turret_angles: Vec<u32>,
});
message!(Terrain {
    #[prost(sint32, repeated, tag = "1")] chunk_id: Vec<i32>, #[prost(bytes = "vec", tag = "2")] data: Vec<u8>,
});
message!(Update {
    #[prost(message, repeated, tag = "1")] contacts: Vec<Contact>,
    #[prost(uint32, tag = "2")] score: u32,
    #[prost(float, tag = "3")] world_radius: f32,
    #[prost(message, repeated, tag = "4")] terrain_updates: Vec<Terrain>,
});
message!(Updates { #[prost(message, repeated, tag = "1")] updates: Vec<Update> });

fn item(from: &character::Item) -> Item {
    Item { id: from.id, number: from.number, uuid: from.uuid, timestamp: from.timestamp }
}

fn point([x, y, z]: [f32; 3]) -> Vector3 {
    Vector3 { x, y, z }
}

fn equip(from: &character::Equip) -> Equip {
    Equip { base: Some(item(&from.base)), level: from.level, attributes: from.attributes.to_vec() }
}

fn made(s: &Source) -> Character {
    Character {
        id: s.id,
        name: s.name.clone(),
        level: s.level,
        healthpoint: s.healthpoint,
        manapoint: s.manapoint,
        speed: s.speed,
        pos: Some(point(s.pos)),
        items: s.items.iter().map(|(key, value)| (*key, item(value))).collect(),
        path: s.path.iter().map(|each| point(*each)).collect(),
        attributes: s.attributes.clone(),
        equips: s.equips.iter().map(equip).collect(),
        skills: s.skills.iter().map(|&(id, level)| Skill { id, level }).collect(),
    }
}

fn read(c: &Character) -> u64 {
    let mut total = c.id.wrapping_add(sum_text(&c.name)).wrapping_add(u64::from(c.level));
    let mut add = |part: u64| total = total.wrapping_add(part);
    let of_item = |i: &Item| sum_item(i.id, i.number, i.uuid, i.timestamp);
    let of_point = |p: &Vector3| sum_f32(&[p.x, p.y, p.z]);
    add(sum_f32(&[c.healthpoint, c.manapoint, c.speed]));
    add(c.pos.as_ref().map_or(0, of_point));
    for (key, value) in &c.items {
        add(*key);
        add(of_item(value));
    }
    c.path.iter().for_each(|each| add(of_point(each)));
    add(sum_f32(&c.attributes));
    for each in &c.equips {
        add(each.base.as_ref().map_or(0, of_item));
        add(u64::from(each.level));
        add(sum_f32(&each.attributes));
    }
    c.skills.iter().for_each(|each| add(u64::from(each.id) + u64::from(each.level)));
    total
}

fn change(c: &mut Character, by: &character::Change) {
    c.level = c.level.wrapping_add(1);
    c.healthpoint -= 1.0;
    c.manapoint += 1.0;
    c.speed -= 1.0;
    if let Some(pos) = &mut c.pos {
        pos.x += 1.0;
        pos.y -= 1.0;
        pos.z += 1.0;
    }
    for (to, from) in c.equips.iter_mut().zip(&by.equips) {
        to.base = Some(item(&from.base));
        to.level = from.level;
        to.attributes.clear();
        to.attributes.extend_from_slice(&from.attributes);
    }
    for each in &by.path {
        c.path.push(point(*each));
        black_box(&mut c.path).pop();
    }
    c.attributes.push(by.attribute);
    black_box(&mut c.attributes).pop();
    c.items.insert(by.item.0, item(&by.item.1));
    black_box(&mut c.items).remove(&by.item.0);
}

fn encode<M: Message>(message: &M, to: &mut Vec<u8>) -> Outcome<()> {
    to.clear();
    message.encode(to)?;
    black_box(to);
    Ok(())
}

fn characters(suite: &mut Suite) -> Outcome<()> {
    let received: Vec<Vec<u8>> = sources().iter().map(|source| made(source).encode_to_vec()).collect();
    let decode = |bytes: &[u8]| -> Outcome<Character> { Ok(Character::decode(bytes)?) };
    let of = received.clone();
    suite.add("sizes", move |_| sizes(of.iter().map(Vec::as_slice)));
    let mut out = Vec::new();
    suite.add("build", move |parameters| {
        timed(parameters, &mut out, |_| (), |out, i| encode(&made(&sources()[i]), out))
    });
    let of = received.clone();
    suite.add("read", move |parameters| {
        timed(parameters, &mut (), |()| (), |(), i| expect_sum(i, read(&decode(&of[i])?)))
    });
    let of = received.clone();
    suite.add("decode", move |parameters| {
        timed(
            parameters,
            &mut (),
            |()| (),
            |(), i| {
                black_box(decode(&of[i])?);
                Ok(())
            },
        )
    });
    let mut out = Vec::new();
    suite.add("mutate_send", move |parameters| {
        timed(
            parameters,
            &mut out,
            |_| (),
            |out, i| {
                let mut c = decode(&received[i])?;
                change(&mut c, &changes()[i]);
                encode(&c, out)
            },
        )
    });
    let natives: Vec<Character> = sources().iter().map(made).collect();
    let mut out = Vec::new();
    suite.add("encode", move |parameters| {
        timed(parameters, &mut out, |_| (), |out, i| encode(&natives[i], out))
    });
    Ok(())
}

fn logs(data: &log::Logs) -> Logs {
    let one = |l: &log::Log| Log {
        address: Some(Address {
            x0: l.address.x0.into(),
            x1: l.address.x1.into(),
            x2: l.address.x2.into(),
            x3: l.address.x3.into(),
        }),
        identity: l.identity.clone(),
        userid: l.userid.clone(),
        date: l.date.clone(),
        request: l.request.clone(),
        code: l.code.into(),
        size: l.size,
    };
    Logs { logs: data.logs.iter().map(one).collect() }
}

fn triangles(data: &mesh::Mesh) -> Mesh {
    let vector = |v: mesh::Vector3| Some(Vector3 { x: v.x, y: v.y, z: v.z });
    let one = |t: &mesh::Triangle| Triangle {
        v0: vector(t.v0),
        v1: vector(t.v1),
        v2: vector(t.v2),
        normal: vector(t.normal),
    };
    Mesh { triangles: data.triangles.iter().map(one).collect() }
}

fn thing(from: &minecraft::Item) -> Thing {
    Thing { count: from.count.into(), slot: from.slot.into(), id: from.id.clone() }
}

fn entity(from: &minecraft::Entity) -> Entity {
    Entity {
        id: from.id.clone(),
        pos: from.pos.to_vec(),
        motion: from.motion.to_vec(),
        rotation: from.rotation.to_vec(),
        fall_distance: from.fall_distance,
        fire: from.fire.into(),
        air: from.air.into(),
        on_ground: from.on_ground,
        no_gravity: from.no_gravity,
        invulnerable: from.invulnerable,
        portal_cooldown: from.portal_cooldown,
        uuid: from.uuid.to_vec(),
        custom_name: from.custom_name.clone(),
        custom_name_visible: from.custom_name_visible,
        silent: from.silent,
        glowing: from.glowing,
    }
}

fn player(from: &minecraft::Player) -> Player {
    let a = from.abilities;
    Player {
        game_type: from.game_type as u32,
        previous_game_type: from.previous_game_type as u32,
        score: from.score,
        dimension: from.dimension.clone(),
        selected_item_slot: from.selected_item_slot,
        selected_item: Some(thing(&from.selected_item)),
        spawn_dimension: from.spawn_dimension.clone(),
        spawn: from.spawn.to_vec(),
        spawn_forced: from.spawn_forced,
        sleep_timer: from.sleep_timer.into(),
        food_exhaustion_level: from.food_exhaustion_level,
        food_saturation_level: from.food_saturation_level,
        food_tick_timer: from.food_tick_timer,
        xp_level: from.xp_level,
        xp_p: from.xp_p,
        xp_total: from.xp_total,
        xp_seed: from.xp_seed,
        inventory: from.inventory.iter().map(thing).collect(),
        ender_items: from.ender_items.iter().map(thing).collect(),
        abilities: Some(Abilities {
            walk_speed: a.walk_speed,
            fly_speed: a.fly_speed,
            may_fly: a.may_fly,
            flying: a.flying,
            invulnerable: a.invulnerable,
            may_build: a.may_build,
            instabuild: a.instabuild,
        }),
        entered_nether_position: from.entered_nether_position.map_or_else(Vec::new, |p| p.to_vec()),
        root_vehicle: from
            .root_vehicle
            .as_ref()
            .map(|v| Vehicle { uuid: v.uuid.to_vec(), entity: Some(entity(&v.entity)) }),
        shoulder_entity_left: from.shoulder_entity_left.as_ref().map(entity),
        shoulder_entity_right: from.shoulder_entity_right.as_ref().map(entity),
        seen_credits: from.seen_credits,
        recipe_book: Some(RecipeBook {
            recipes: from.recipe_book.recipes.clone(),
            to_be_displayed: from.recipe_book.to_be_displayed.clone(),
            flags: from.recipe_book.flags.to_vec(),
        }),
    }
}

fn players(data: &minecraft::Players) -> Players {
    Players { players: data.players.iter().map(player).collect() }
}

fn contact(from: &mk48::Contact) -> Contact {
    Contact {
        damage: from.damage.into(),
        entity_id: from.entity_id,
        entity_type: from.entity_type.map(|kind| kind as u32),
        guidance: Some(Guidance {
            angle: from.guidance.angle.into(),
            submerge: from.guidance.submerge,
            velocity: from.guidance.velocity.into(),
        }),
        player_id: from.player_id.map(u32::from),
        reloads: from.reloads.clone(),
        transform: Some(Transform {
            altitude: from.transform.altitude.into(),
            angle: from.transform.angle.into(),
            position: from.transform.position.to_vec(),
            velocity: from.transform.velocity.into(),
        }),
        turret_angles: from.turret_angles.iter().map(|angle| u32::from(*angle)).collect(),
    }
}

fn updates(data: &mk48::Updates) -> Updates {
    let terrain = |t: &mk48::TerrainUpdate| Terrain {
        chunk_id: t.chunk_id.iter().map(|each| i32::from(*each)).collect(),
        data: t.data.clone(),
    };
    let one = |u: &mk48::Update| Update {
        contacts: u.contacts.iter().map(contact).collect(),
        score: u.score,
        world_radius: u.world_radius,
        terrain_updates: u.terrain_updates.iter().map(terrain).collect(),
    };
    Updates { updates: data.updates.iter().map(one).collect() }
}

/// Serializing starts from ordinary structs, reading from bytes.
fn data_set<D: 'static, M: Message + Default + 'static>(
    suite: &mut Suite,
    (name, data, sum): (&'static str, D, u64),
    message: fn(&D) -> M,
    read: fn(&M) -> u64,
) -> Outcome<()> {
    let bytes = Aligned::new(&message(&data).encode_to_vec());
    let mut out = Vec::new();
    let read = move |bytes: &[u8]| -> Outcome<u64> { Ok(read(&M::decode(bytes)?)) };
    Set { name, sum, bytes, read, update: None::<NoUpdate>, validate: None::<NoValidate> }
        .add(suite, move || encode(&message(black_box(&data)), &mut out))
}

/// All operations of the system.
pub fn suite() -> Outcome<Suite> {
    let mut suite = Suite::default();
    characters(&mut suite)?;
    let data = log::make();
    let sum = log::sum(&data);
    data_set(&mut suite, ("log", data, sum), logs, |read| {
        let part = |l: &Log| {
            let a = l.address.as_ref().map_or([0; 4], |a| [a.x0 as u8, a.x1 as u8, a.x2 as u8, a.x3 as u8]);
            log::part(a, l.code as u16, l.size)
        };
        read.logs.iter().map(part).sum()
    })?;
    let data = mesh::make();
    let sum = mesh::sum(&data);
    data_set(&mut suite, ("mesh", data, sum), triangles, |read| {
        let normals = read.triangles.iter().filter_map(|t| t.normal.as_ref());
        normals.map(|n| mesh::part(n.x, n.y, n.z)).sum()
    })?;
    let data = minecraft::make();
    let sum = minecraft::sum(&data);
    data_set(&mut suite, ("minecraft_savedata", data, sum), players, |read| {
        read.players.iter().map(|player| u64::from(player.game_type)).sum()
    })?;
    let data = mk48::make();
    let sum = mk48::sum(&data);
    data_set(&mut suite, ("mk48", data, sum), updates, |read| {
        read.updates.iter().map(|update| u64::from(update.score)).sum()
    })?;
    Ok(suite)
}
