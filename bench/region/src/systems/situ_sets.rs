//! Situ's regions: the data sets.

use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;

use situ_region::{Bool, Full, HashMap, Maybe, Mut, Packed, Ref, Region, Stored, Text, Vector};
use situ_region::{region_plain, region_struct, view, view_packed};

use super::situ_world;
use crate::data::{log, mesh, minecraft, mk48, tables, words, world};
use crate::suite::{Aligned, Outcome, Suite, sizes, timed_whole};

region_plain! { struct Address { x0: u8, x1: u8, x2: u8, x3: u8 } }
region_struct! {
    struct Log: LogRef, LogMut {
        address: Address, identity: Text, userid: Text, date: Text, request: Text, code: u16, size: u64,
    }
}
region_struct! { struct Logs: LogsRef, LogsMut { logs: Vector<Log> } }

region_plain! { struct Vector3 { x: f32, y: f32, z: f32 } }
region_plain! { struct Triangle { v0: Vector3, v1: Vector3, v2: Vector3, normal: Vector3 } }
region_struct! { struct Mesh: MeshRef, MeshMut { triangles: Vector<Triangle> } }

region_struct! { struct Item: ItemRef, ItemMut { count: i8, slot: u8, id: Text } }
region_struct! {
    struct Abilities: AbilitiesRef, AbilitiesMut { walk_speed: f32, fly_speed: f32, flags: [Bool; 5] }
}
region_struct! {
    struct Entity: EntityRef, EntityMut {
        id: Text, pos: [f64; 3], motion: [f64; 3], rotation: [f32; 2], fall_distance: f32, fire: u16, air: u16,
        on_ground: Bool, no_gravity: Bool, invulnerable: Bool, portal_cooldown: i32, uuid: [u32; 4],
        custom_name: Maybe<Text>, custom_name_visible: Bool, silent: Bool, glowing: Bool,
    }
}
region_struct! {
    struct RecipeBook: RecipeBookRef, RecipeBookMut {
        recipes: Vector<Text>, to_be_displayed: Vector<Text>, flags: [Bool; 8],
    }
}
region_struct! { struct Vehicle: VehicleRef, VehicleMut { uuid: [u32; 4], entity: Entity } }
region_struct! {
    struct Player: PlayerRef, PlayerMut {
        game_type: u8, previous_game_type: u8, score: i64, dimension: Text, selected_item_slot: u32,
        selected_item: Item, spawn_dimension: Maybe<Text>, spawn: [i64; 3], spawn_forced: Maybe<Bool>,
        sleep_timer: u16, food_exhaustion_level: f32, food_saturation_level: f32, food_tick_timer: u32,
        xp_level: u32, xp_p: f32, xp_total: i32, xp_seed: i32, inventory: Vector<Item>, ender_items: Vector<Item>,
        abilities: Abilities, entered_nether_position: Maybe<[f64; 3]>, root_vehicle: Maybe<Vehicle>,
        shoulder_entity_left: Maybe<Entity>, shoulder_entity_right: Maybe<Entity>, seen_credits: Bool,
        recipe_book: RecipeBook,
    }
}
region_struct! { struct Players: PlayersRef, PlayersMut { players: Vector<Player> } }

region_struct! {
    struct Transform: TransformRef, TransformMut { altitude: i8, angle: u16, position: [f32; 2], velocity: i16 }
}
region_struct! { struct Guidance: GuidanceRef, GuidanceMut { angle: u16, submerge: Bool, velocity: i16 } }
region_struct! {
    struct Contact: ContactRef, ContactMut {
        damage: u8, entity_id: u32, entity_type: Maybe<u8>, guidance: Guidance, player_id: Maybe<u16>,
        reloads: Vector<Bool>, transform: Transform, turret_angles: Vector<u16>,
    }
}
region_struct! { struct Terrain: TerrainRef, TerrainMut { chunk_id: [i8; 2], data: Vector<u8> } }
region_struct! {
    struct Update: UpdateRef, UpdateMut {
        contacts: Vector<Contact>, score: u32, world_radius: f32, terrain_updates: Vector<Terrain>,
    }
}
region_struct! { struct Updates: UpdatesRef, UpdatesMut { updates: Vector<Update> } }

region_plain! { struct Thing { id: u32, number: u32, uuid: u64, timestamp: u64 } }
region_struct! {
    struct Tables: TablesRef, TablesMut { by_number: HashMap<u64, Thing>, by_name: HashMap<Text, u32> }
}

region_struct! { struct Words: WordsRef, WordsMut { words: Vector<Text> } }

fn fill_tables(mut to: Mut<'_, Tables>, from: &tables::Tables) -> Result<(), Full> {
    let mut by_number = to.by_number();
    by_number.reserve(from.by_number.len())?;
    for (key, tables::Item { id, number, uuid, timestamp }) in &from.by_number {
        let (id, number, uuid, timestamp) = (*id, *number, *uuid, *timestamp);
        by_number.insert(*key, Thing { id, number, uuid, timestamp })?;
    }
    let mut by_name = to.by_name();
    by_name.reserve(from.by_name.len())?;
    from.by_name.iter().try_for_each(|(name, number)| by_name.insert(name, *number))
}

fn fill_logs(mut to: Mut<'_, Logs>, from: &log::Logs) -> Result<(), Full> {
    let mut logs = to.logs();
    logs.reserve(from.logs.len())?;
    for log in &from.logs {
        let mut l = logs.push_default()?;
        let a = log.address;
        *l.address() = Address { x0: a.x0, x1: a.x1, x2: a.x2, x3: a.x3 };
        l.identity().set(log.identity.as_str())?;
        l.userid().set(log.userid.as_str())?;
        l.date().set(log.date.as_str())?;
        l.request().set(log.request.as_str())?;
        *l.code() = log.code;
        *l.size() = log.size;
    }
    Ok(())
}

fn fill_mesh(mut to: Mut<'_, Mesh>, from: &mesh::Mesh) -> Result<(), Full> {
    let vector = |v: mesh::Vector3| Vector3 { x: v.x, y: v.y, z: v.z };
    let mut triangles = to.triangles();
    triangles.reserve(from.triangles.len())?;
    for t in &from.triangles {
        let (v0, v1, v2, normal) = (vector(t.v0), vector(t.v1), vector(t.v2), vector(t.normal));
        triangles.push(Triangle { v0, v1, v2, normal })?;
    }
    Ok(())
}

fn set_flags<const N: usize>(mut to: Mut<'_, [Bool; N]>, from: [bool; N]) -> Result<(), Full> {
    for (at, flag) in from.into_iter().enumerate() {
        if let Some(mut place) = to.get_mut(at) {
            place.set(flag)?;
        }
    }
    Ok(())
}

fn fill_item(mut to: Mut<'_, Item>, from: &minecraft::Item) -> Result<(), Full> {
    *to.count() = from.count;
    *to.slot() = from.slot;
    to.id().set(from.id.as_str())
}

fn fill_items(mut to: Mut<'_, Vector<Item>>, from: &[minecraft::Item]) -> Result<(), Full> {
    to.reserve(from.len())?;
    from.iter().try_for_each(|item| fill_item(to.push_default()?, item))
}

fn fill_texts(mut to: Mut<'_, Vector<Text>>, from: &[String]) -> Result<(), Full> {
    to.reserve(from.len())?;
    from.iter().try_for_each(|text| to.push(text.as_str()))
}

fn fill_words(mut to: Mut<'_, Words>, from: &words::Words) -> Result<(), Full> {
    fill_texts(to.words(), &from.words)
}

fn fill_entity(mut to: Mut<'_, Entity>, from: &minecraft::Entity) -> Result<(), Full> {
    to.id().set(from.id.as_str())?;
    *to.pos() = from.pos;
    *to.motion() = from.motion;
    *to.rotation() = from.rotation;
    *to.fall_distance() = from.fall_distance;
    *to.fire() = from.fire;
    *to.air() = from.air;
    to.on_ground().set(from.on_ground)?;
    to.no_gravity().set(from.no_gravity)?;
    to.invulnerable().set(from.invulnerable)?;
    *to.portal_cooldown() = from.portal_cooldown;
    *to.uuid() = from.uuid;
    to.custom_name().set(from.custom_name.as_deref())?;
    to.custom_name_visible().set(from.custom_name_visible)?;
    to.silent().set(from.silent)?;
    to.glowing().set(from.glowing)
}

fn fill_player(mut to: Mut<'_, Player>, from: &minecraft::Player) -> Result<(), Full> {
    *to.game_type() = from.game_type as u8;
    *to.previous_game_type() = from.previous_game_type as u8;
    *to.score() = from.score;
    to.dimension().set(from.dimension.as_str())?;
    *to.selected_item_slot() = from.selected_item_slot;
    fill_item(to.selected_item(), &from.selected_item)?;
    to.spawn_dimension().set(from.spawn_dimension.as_deref())?;
    *to.spawn() = from.spawn;
    to.spawn_forced().set(from.spawn_forced)?;
    *to.sleep_timer() = from.sleep_timer;
    *to.food_exhaustion_level() = from.food_exhaustion_level;
    *to.food_saturation_level() = from.food_saturation_level;
    *to.food_tick_timer() = from.food_tick_timer;
    *to.xp_level() = from.xp_level;
    *to.xp_p() = from.xp_p;
    *to.xp_total() = from.xp_total;
    *to.xp_seed() = from.xp_seed;
    fill_items(to.inventory(), &from.inventory)?;
    fill_items(to.ender_items(), &from.ender_items)?;
    let a = from.abilities;
    let mut abilities = to.abilities();
    *abilities.walk_speed() = a.walk_speed;
    *abilities.fly_speed() = a.fly_speed;
    set_flags(abilities.flags(), [a.may_fly, a.flying, a.invulnerable, a.may_build, a.instabuild])?;
    to.entered_nether_position().set(from.entered_nether_position)?;
    if let Some(vehicle) = &from.root_vehicle {
        let mut place = to.root_vehicle();
        let mut place = place.fill();
        *place.uuid() = vehicle.uuid;
        fill_entity(place.entity(), &vehicle.entity)?;
    }
    if let Some(entity) = &from.shoulder_entity_left {
        fill_entity(to.shoulder_entity_left().fill(), entity)?;
    }
    if let Some(entity) = &from.shoulder_entity_right {
        fill_entity(to.shoulder_entity_right().fill(), entity)?;
    }
    to.seen_credits().set(from.seen_credits)?;
    let mut book = to.recipe_book();
    fill_texts(book.recipes(), &from.recipe_book.recipes)?;
    fill_texts(book.to_be_displayed(), &from.recipe_book.to_be_displayed)?;
    set_flags(book.flags(), from.recipe_book.flags)
}

fn fill_players(mut to: Mut<'_, Players>, from: &minecraft::Players) -> Result<(), Full> {
    let mut players = to.players();
    players.reserve(from.players.len())?;
    from.players.iter().try_for_each(|player| fill_player(players.push_default()?, player))
}

fn fill_contact(mut to: Mut<'_, Contact>, from: &mk48::Contact) -> Result<(), Full> {
    *to.damage() = from.damage;
    *to.entity_id() = from.entity_id;
    to.entity_type().set(from.entity_type.map(|kind| kind as u8))?;
    let mut guidance = to.guidance();
    *guidance.angle() = from.guidance.angle;
    guidance.submerge().set(from.guidance.submerge)?;
    *guidance.velocity() = from.guidance.velocity;
    to.player_id().set(from.player_id)?;
    to.reloads().set(&from.reloads[..])?;
    let mut transform = to.transform();
    *transform.altitude() = from.transform.altitude;
    *transform.angle() = from.transform.angle;
    *transform.position() = from.transform.position;
    *transform.velocity() = from.transform.velocity;
    to.turret_angles().set(&from.turret_angles[..])
}

fn fill_updates(mut to: Mut<'_, Updates>, from: &mk48::Updates) -> Result<(), Full> {
    let mut updates = to.updates();
    updates.reserve(from.updates.len())?;
    for update in &from.updates {
        let mut u = updates.push_default()?;
        let mut contacts = u.contacts();
        contacts.reserve(update.contacts.len())?;
        update.contacts.iter().try_for_each(|contact| fill_contact(contacts.push_default()?, contact))?;
        *u.score() = update.score;
        *u.world_radius() = update.world_radius;
        let mut terrain = u.terrain_updates();
        terrain.reserve(update.terrain_updates.len())?;
        for each in &update.terrain_updates {
            let mut t = terrain.push_default()?;
            *t.chunk_id() = each.chunk_id;
            t.data().set(&each.data[..])?;
        }
    }
    Ok(())
}

fn read_logs(of: Ref<'_, Logs>) -> u64 {
    let part = |log: Ref<'_, Log>| {
        let a = *log.address();
        log::part([a.x0, a.x1, a.x2, a.x3], *log.code(), *log.size())
    };
    of.logs().iter().map(part).sum()
}

fn update_logs(mut of: Mut<'_, Logs>) {
    let mut logs = of.logs();
    for i in 0..logs.len() {
        let Some(mut log) = logs.get_mut(i) else { return };
        *log.address() = Address { x0: 0, x1: 0, x2: 0, x3: 0 };
        *log.code() = 200;
        *log.size() = 0;
    }
}

fn read_mesh(of: Ref<'_, Mesh>) -> u64 {
    of.triangles().as_slice().iter().map(|t| mesh::part(t.normal.x, t.normal.y, t.normal.z)).sum()
}

fn update_mesh(mut of: Mut<'_, Mesh>) {
    for triangle in of.triangles().as_mut_slice() {
        triangle.normal = Vector3 { x: 0.0, y: 0.0, z: 0.0 };
    }
}

fn read_players(of: Ref<'_, Players>) -> u64 {
    of.players().iter().map(|player| u64::from(*player.game_type())).sum()
}

fn update_players(mut of: Mut<'_, Players>) {
    let mut players = of.players();
    for i in 0..players.len() {
        let Some(mut player) = players.get_mut(i) else { return };
        *player.game_type() = minecraft::GameType::Survival as u8;
        *player.spawn() = [0; 3];
    }
}

fn read_updates(of: Ref<'_, Updates>) -> u64 {
    of.updates().iter().map(|update| u64::from(*update.score())).sum()
}

fn update_updates(mut of: Mut<'_, Updates>) {
    let mut updates = of.updates();
    for i in 0..updates.len() {
        let Some(mut update) = updates.get_mut(i) else { return };
        let mut score = update.score();
        *score = score.wrapping_mul(2);
    }
}

/// Adds one data set. `canonical` images are measured and checked; live regions are read and changed.
fn add_set<T: Stored, D: 'static>(
    suite: &mut Suite,
    (name, data, sum): (&'static str, D, u64),
    fill: fn(Mut<'_, T>, &D) -> Result<(), Full>,
    read: impl Fn(Ref<'_, T>) -> u64 + 'static,
    update: fn(Mut<'_, T>),
) -> Outcome<()> {
    let mut region = Region::<T>::new();
    fill(region.root_mut(), &data)?;
    let found = read(region.root());
    if found != sum {
        return Err(format!("{name} adds up to {found}, not {sum}").into());
    }
    let canonical = Aligned::new(&region.canonical());
    let whole = canonical.clone();
    suite.add(&format!("{name}/sizes"), move |_| sizes([whole.as_ref()].into_iter()));
    let whole = canonical.clone();
    suite.add(&format!("{name}/export"), move |parameters| {
        std::fs::write(parameters.text("image"), whole.as_ref())?;
        Ok(Vec::new())
    });
    suite.add(&format!("{name}/serialize"), move |parameters| {
        timed_whole(parameters, || {
            let mut region = Region::<T>::new();
            fill(region.root_mut(), black_box(&data))?;
            black_box(region.bytes());
            Ok(())
        })
    });
    suite.add(&format!("{name}/validate"), move |parameters| {
        timed_whole(parameters, || {
            black_box(view::<T>(black_box(canonical.as_ref()))?);
            Ok(())
        })
    });
    let region = Rc::new(RefCell::new(region));
    let of = Rc::clone(&region);
    suite.add(&format!("{name}/read"), move |parameters| {
        timed_whole(parameters, || {
            black_box(read(black_box(of.borrow().root())));
            Ok(())
        })
    });
    suite.add(&format!("{name}/update"), move |parameters| {
        timed_whole(parameters, || {
            update(black_box(&mut *region.borrow_mut()).root_mut());
            Ok(())
        })
    });
    Ok(())
}

/// Adds one data set in its packed form, which is measured, checked and read.
fn add_packed_set<T: Stored, D: 'static>(
    suite: &mut Suite,
    (name, data, sum): (&'static str, D, u64),
    fill: fn(Mut<'_, T>, &D) -> Result<(), Full>,
    read: impl Fn(Packed<'_, T>) -> u64 + 'static,
) -> Outcome<()> {
    let mut region = Region::<T>::new();
    fill(region.root_mut(), &data)?;
    let packed = Rc::new(Aligned::new(&region.packed()));
    let found = read(view_packed::<T>((*packed).as_ref())?);
    if found != sum {
        return Err(format!("{name} adds up to {found}, not {sum}").into());
    }
    let whole = Rc::clone(&packed);
    suite.add(&format!("{name}/sizes"), move |_| sizes([(*whole).as_ref()].into_iter()));
    let mut buffer = vec![0; region.bytes().len()];
    suite.add(&format!("{name}/serialize"), move |parameters| {
        timed_whole(parameters, || {
            let mut region = Region::<T>::new();
            fill(region.root_mut(), black_box(&data))?;
            black_box(region.packed_into(&mut buffer)?);
            Ok(())
        })
    });
    let whole = Rc::clone(&packed);
    suite.add(&format!("{name}/validate"), move |parameters| {
        timed_whole(parameters, || {
            black_box(view_packed::<T>(black_box((*whole).as_ref()))?);
            Ok(())
        })
    });
    let mut to = vec![0; region.bytes().len()];
    suite.add(&format!("{name}/pack"), move |parameters| {
        timed_whole(parameters, || {
            black_box(region.packed_into(black_box(&mut to))?);
            Ok(())
        })
    });
    let whole = Rc::clone(&packed);
    suite.add(&format!("{name}/unpack"), move |parameters| {
        timed_whole(parameters, || {
            black_box(Region::<T>::adopt(black_box((*whole).as_ref()))?.bytes());
            Ok(())
        })
    });
    suite.add(&format!("{name}/read"), move |parameters| {
        let root = view_packed::<T>((*packed).as_ref())?;
        timed_whole(parameters, || {
            black_box(read(black_box(root)));
            Ok(())
        })
    });
    Ok(())
}

/// The data sets in their packed form.
pub fn packed_suite() -> Outcome<Suite> {
    let mut suite = Suite::default();
    let data = log::make();
    let sum = log::sum(&data);
    let read = |of: Packed<'_, Logs>| {
        let part = |log: Packed<'_, Log>| {
            let a = *log.address();
            log::part([a.x0, a.x1, a.x2, a.x3], *log.code(), *log.size())
        };
        of.logs().iter().map(part).sum()
    };
    add_packed_set::<Logs, _>(&mut suite, ("log", data, sum), fill_logs, read)?;
    let data = mesh::make();
    let sum = mesh::sum(&data);
    let read = |of: Packed<'_, Mesh>| {
        of.triangles().as_slice().iter().map(|t| mesh::part(t.normal.x, t.normal.y, t.normal.z)).sum()
    };
    add_packed_set::<Mesh, _>(&mut suite, ("mesh", data, sum), fill_mesh, read)?;
    let data = minecraft::make();
    let sum = minecraft::sum(&data);
    let read =
        |of: Packed<'_, Players>| of.players().iter().map(|player| u64::from(*player.game_type())).sum();
    add_packed_set::<Players, _>(&mut suite, ("minecraft_savedata", data, sum), fill_players, read)?;
    let data = mk48::make();
    let sum = mk48::sum(&data);
    let read = |of: Packed<'_, Updates>| of.updates().iter().map(|update| u64::from(*update.score())).sum();
    add_packed_set::<Updates, _>(&mut suite, ("mk48", data, sum), fill_updates, read)?;
    let (data, wanted) = (tables::make(), tables::wanted());
    let sum = tables::sum(&data);
    let read = move |of: Packed<'_, Tables>| {
        let (by_number, by_name) = (of.by_number(), of.by_name());
        let id = |key: &u64| by_number.get(*key).map_or(0, |item| item.id);
        let number = |name: &String| by_name.get(name).map_or(0, |number| *number);
        let ids: u64 = wanted.numbers.iter().map(|key| u64::from(id(key))).sum();
        ids + wanted.names.iter().map(|name| u64::from(number(name))).sum::<u64>()
    };
    add_packed_set::<Tables, _>(&mut suite, ("tables", data, sum), fill_tables, read)?;
    let data = words::make();
    let sum = words::sum(&data);
    let read = |of: Packed<'_, Words>| of.words().iter().map(|word| world::text(&word)).sum();
    add_packed_set::<Words, _>(&mut suite, ("words", data, sum), fill_words, read)?;
    situ_world::add_packed(&mut suite)?;
    Ok(suite)
}

/// Adds the data sets.
pub fn add(suite: &mut Suite) -> Outcome<()> {
    let data = log::make();
    let sum = log::sum(&data);
    add_set::<Logs, _>(suite, ("log", data, sum), fill_logs, read_logs, update_logs)?;
    let data = mesh::make();
    let sum = mesh::sum(&data);
    add_set::<Mesh, _>(suite, ("mesh", data, sum), fill_mesh, read_mesh, update_mesh)?;
    let data = minecraft::make();
    let sum = minecraft::sum(&data);
    let named = ("minecraft_savedata", data, sum);
    add_set::<Players, _>(suite, named, fill_players, read_players, update_players)?;
    let data = mk48::make();
    let sum = mk48::sum(&data);
    add_set::<Updates, _>(suite, ("mk48", data, sum), fill_updates, read_updates, update_updates)?;
    let (data, wanted) = (tables::make(), tables::wanted());
    let sum = tables::sum(&data);
    let read = move |of: Ref<'_, Tables>| {
        let (by_number, by_name) = (of.by_number(), of.by_name());
        let id = |key: &u64| by_number.get(*key).map_or(0, |item| item.id);
        let number = |name: &String| by_name.get(name).map_or(0, |number| *number);
        let ids: u64 = wanted.numbers.iter().map(|key| u64::from(id(key))).sum();
        ids + wanted.names.iter().map(|name| u64::from(number(name))).sum::<u64>()
    };
    add_set::<Tables, _>(suite, ("tables", data, sum), fill_tables, read, |_| {})?;
    let data = words::make();
    let sum = words::sum(&data);
    let read = |of: Ref<'_, Words>| of.words().iter().map(|word| world::text(&word)).sum();
    add_set::<Words, _>(suite, ("words", data, sum), fill_words, read, |_| {})?;
    situ_world::add(suite)
}
