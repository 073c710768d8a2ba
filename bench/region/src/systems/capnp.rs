//! Cap'n Proto, the crate capnp 0.27. Reading checks each link when it follows it. Messages cannot be changed
//! in place.

#[allow(clippy::all, clippy::pedantic, missing_docs, dead_code, reason = "generated")]
mod records_capnp {
    //! Generated from schema/records.capnp.
    include!(concat!(env!("OUT_DIR"), "/records_capnp.rs"));
}

#[allow(clippy::all, clippy::pedantic, missing_docs, dead_code, reason = "generated")]
mod character_capnp {
    //! Generated from the schema of the C++ peer.
    include!(concat!(env!("OUT_DIR"), "/character_capnp.rs"));
}
mod character;

use std::hint::black_box;

use capnp::message::{Builder, HeapAllocator, ReaderOptions};
use capnp::serialize::{read_message_from_flat_slice, write_message};
use capnp::traits::Owned;

use super::{NoUpdate, NoValidate, Set};
use crate::data::{log, mesh, minecraft, mk48};
use crate::suite::{Aligned, Outcome, Suite};
use records_capnp as cp;

fn logs(mut to: cp::logs::Builder<'_>, data: &log::Logs) -> Outcome<()> {
    let mut logs = to.reborrow().init_logs(data.logs.len() as u32);
    for (at, log) in data.logs.iter().enumerate() {
        let mut l = logs.reborrow().get(at as u32);
        l.set_x0(log.address.x0);
        l.set_x1(log.address.x1);
        l.set_x2(log.address.x2);
        l.set_x3(log.address.x3);
        l.set_identity(log.identity.as_str());
        l.set_userid(log.userid.as_str());
        l.set_date(log.date.as_str());
        l.set_request(log.request.as_str());
        l.set_code(log.code);
        l.set_size(log.size);
    }
    Ok(())
}

fn triangles(mut to: cp::mesh::Builder<'_>, data: &mesh::Mesh) -> Outcome<()> {
    let vector = |mut to: cp::vector3::Builder<'_>, from: mesh::Vector3| {
        to.set_x(from.x);
        to.set_y(from.y);
        to.set_z(from.z);
    };
    let mut triangles = to.reborrow().init_triangles(data.triangles.len() as u32);
    for (at, from) in data.triangles.iter().enumerate() {
        let mut t = triangles.reborrow().get(at as u32);
        vector(t.reborrow().init_v0(), from.v0);
        vector(t.reborrow().init_v1(), from.v1);
        vector(t.reborrow().init_v2(), from.v2);
        vector(t.reborrow().init_normal(), from.normal);
    }
    Ok(())
}

fn item(mut to: cp::item::Builder<'_>, from: &minecraft::Item) {
    to.set_count(from.count);
    to.set_slot(from.slot);
    to.set_id(from.id.as_str());
}

fn texts(mut to: capnp::text_list::Builder<'_>, from: &[String]) {
    for (at, text) in from.iter().enumerate() {
        to.set(at as u32, text.as_str());
    }
}

fn entity(mut to: cp::entity::Builder<'_>, from: &minecraft::Entity) {
    to.set_id(from.id.as_str());
    to.set_pos_x(from.pos[0]);
    to.set_pos_y(from.pos[1]);
    to.set_pos_z(from.pos[2]);
    to.set_motion_x(from.motion[0]);
    to.set_motion_y(from.motion[1]);
    to.set_motion_z(from.motion[2]);
    to.set_rotation_x(from.rotation[0]);
    to.set_rotation_y(from.rotation[1]);
    to.set_fall_distance(from.fall_distance);
    to.set_fire(from.fire);
    to.set_air(from.air);
    to.set_on_ground(from.on_ground);
    to.set_no_gravity(from.no_gravity);
    to.set_invulnerable(from.invulnerable);
    to.set_portal_cooldown(from.portal_cooldown);
    to.set_uuid0(from.uuid[0]);
    to.set_uuid1(from.uuid[1]);
    to.set_uuid2(from.uuid[2]);
    to.set_uuid3(from.uuid[3]);
    if let Some(name) = &from.custom_name {
        to.set_custom_name(name.as_str());
    }
    to.set_custom_name_visible(from.custom_name_visible);
    to.set_silent(from.silent);
    to.set_glowing(from.glowing);
}

fn player(mut to: cp::player::Builder<'_>, from: &minecraft::Player) {
    to.set_game_type(from.game_type as u8);
    to.set_previous_game_type(from.previous_game_type as u8);
    to.set_score(from.score);
    to.set_dimension(from.dimension.as_str());
    to.set_selected_item_slot(from.selected_item_slot);
    item(to.reborrow().init_selected_item(), &from.selected_item);
    if let Some(dimension) = &from.spawn_dimension {
        to.set_spawn_dimension(dimension.as_str());
    }
    to.set_spawn_x(from.spawn[0]);
    to.set_spawn_y(from.spawn[1]);
    to.set_spawn_z(from.spawn[2]);
    to.set_spawn_forced(from.spawn_forced.unwrap_or_default());
    to.set_has_spawn_forced(from.spawn_forced.is_some());
    to.set_sleep_timer(from.sleep_timer);
    to.set_food_exhaustion_level(from.food_exhaustion_level);
    to.set_food_saturation_level(from.food_saturation_level);
    to.set_food_tick_timer(from.food_tick_timer);
    to.set_xp_level(from.xp_level);
    to.set_xp_p(from.xp_p);
    to.set_xp_total(from.xp_total);
    to.set_xp_seed(from.xp_seed);
    let mut inventory = to.reborrow().init_inventory(from.inventory.len() as u32);
    for (at, each) in from.inventory.iter().enumerate() {
        item(inventory.reborrow().get(at as u32), each);
    }
    let mut ender = to.reborrow().init_ender_items(from.ender_items.len() as u32);
    for (at, each) in from.ender_items.iter().enumerate() {
        item(ender.reborrow().get(at as u32), each);
    }
    to.set_walk_speed(from.abilities.walk_speed);
    to.set_fly_speed(from.abilities.fly_speed);
    to.set_may_fly(from.abilities.may_fly);
    to.set_flying(from.abilities.flying);
    to.set_invulnerable(from.abilities.invulnerable);
    to.set_may_build(from.abilities.may_build);
    to.set_instabuild(from.abilities.instabuild);
    if let Some([x, y, z]) = from.entered_nether_position {
        let mut point = to.reborrow().init_entered_nether_position();
        point.set_x(x);
        point.set_y(y);
        point.set_z(z);
    }
    if let Some(vehicle) = &from.root_vehicle {
        let mut uuid = to.reborrow().init_vehicle_uuid(4);
        for (at, each) in vehicle.uuid.iter().enumerate() {
            uuid.set(at as u32, *each);
        }
        entity(to.reborrow().init_vehicle(), &vehicle.entity);
    }
    if let Some(left) = &from.shoulder_entity_left {
        entity(to.reborrow().init_shoulder_left(), left);
    }
    if let Some(right) = &from.shoulder_entity_right {
        entity(to.reborrow().init_shoulder_right(), right);
    }
    to.set_seen_credits(from.seen_credits);
    let book = &from.recipe_book;
    texts(to.reborrow().init_recipes(book.recipes.len() as u32), &book.recipes);
    texts(to.reborrow().init_to_be_displayed(book.to_be_displayed.len() as u32), &book.to_be_displayed);
    let mut flags = to.reborrow().init_recipe_flags(8);
    for (at, flag) in book.flags.iter().enumerate() {
        flags.set(at as u32, *flag);
    }
}

fn players(mut to: cp::players::Builder<'_>, data: &minecraft::Players) -> Outcome<()> {
    let mut players = to.reborrow().init_players(data.players.len() as u32);
    for (at, from) in data.players.iter().enumerate() {
        player(players.reborrow().get(at as u32), from);
    }
    Ok(())
}

fn contact(mut to: cp::contact::Builder<'_>, from: &mk48::Contact) {
    to.set_damage(from.damage);
    to.set_entity_id(from.entity_id);
    to.set_entity_type(from.entity_type.map_or(0, |kind| kind as u8));
    to.set_has_entity_type(from.entity_type.is_some());
    to.set_guidance_angle(from.guidance.angle);
    to.set_guidance_submerge(from.guidance.submerge);
    to.set_guidance_velocity(from.guidance.velocity);
    to.set_player_id(from.player_id.unwrap_or_default());
    to.set_has_player_id(from.player_id.is_some());
    let mut reloads = to.reborrow().init_reloads(from.reloads.len() as u32);
    for (at, each) in from.reloads.iter().enumerate() {
        reloads.set(at as u32, *each);
    }
    to.set_altitude(from.transform.altitude);
    to.set_angle(from.transform.angle);
    to.set_x(from.transform.position[0]);
    to.set_y(from.transform.position[1]);
    to.set_velocity(from.transform.velocity);
    let mut angles = to.reborrow().init_turret_angles(from.turret_angles.len() as u32);
    for (at, each) in from.turret_angles.iter().enumerate() {
        angles.set(at as u32, *each);
    }
}

fn updates(mut to: cp::updates::Builder<'_>, data: &mk48::Updates) -> Outcome<()> {
    let mut updates = to.reborrow().init_updates(data.updates.len() as u32);
    for (at, from) in data.updates.iter().enumerate() {
        let mut u = updates.reborrow().get(at as u32);
        let mut contacts = u.reborrow().init_contacts(from.contacts.len() as u32);
        for (at, each) in from.contacts.iter().enumerate() {
            contact(contacts.reborrow().get(at as u32), each);
        }
        u.set_score(from.score);
        u.set_world_radius(from.world_radius);
        let mut terrain = u.reborrow().init_terrain_updates(from.terrain_updates.len() as u32);
        for (at, each) in from.terrain_updates.iter().enumerate() {
            let mut t = terrain.reborrow().get(at as u32);
            t.set_chunk_x(each.chunk_id[0]);
            t.set_chunk_y(each.chunk_id[1]);
            t.set_data(&each.data);
        }
    }
    Ok(())
}

/// Adds one data set: `fill` writes it into a builder, `read` returns its sum.
fn data_set<T: Owned + 'static, D: 'static>(
    suite: &mut Suite,
    (name, data, sum): (&'static str, D, u64),
    fill: fn(T::Builder<'_>, &D) -> Outcome<()>,
    read: fn(T::Reader<'_>) -> Outcome<u64>,
) -> Outcome<()> {
    // A first segment with room for everything, as in rust_serialization_benchmark.
    let words = 1_250_000;
    let encode = move |data: &D, out: &mut Vec<u8>| -> Outcome<()> {
        let mut message = Builder::new(HeapAllocator::new().first_segment_words(words));
        fill(message.init_root::<T::Builder<'_>>(), data)?;
        out.clear();
        write_message(&mut *out, &message)?;
        black_box(out);
        Ok(())
    };
    let mut out = Vec::with_capacity(words as usize * 8);
    encode(&data, &mut out)?;
    let bytes = Aligned::new(&out);
    let read = move |bytes: &[u8]| -> Outcome<u64> {
        let mut options = ReaderOptions::new();
        options.traversal_limit_in_words(None);
        let message = read_message_from_flat_slice(&mut &bytes[..], options)?;
        read(message.get_root::<T::Reader<'_>>()?)
    };
    Set { name, sum, bytes, read, update: None::<NoUpdate>, validate: None::<NoValidate> }
        .add(suite, move || encode(black_box(&data), &mut out))
}

/// All operations of the system.
pub fn suite() -> Outcome<Suite> {
    let mut suite = Suite::default();
    character::add(&mut suite)?;
    let data = log::make();
    let sum = log::sum(&data);
    data_set::<cp::logs::Owned, _>(&mut suite, ("log", data, sum), logs, |read| {
        let part = |l: cp::log::Reader<'_>| {
            log::part([l.get_x0(), l.get_x1(), l.get_x2(), l.get_x3()], l.get_code(), l.get_size())
        };
        Ok(read.get_logs()?.iter().map(part).sum())
    })?;
    let data = mesh::make();
    let sum = mesh::sum(&data);
    data_set::<cp::mesh::Owned, _>(&mut suite, ("mesh", data, sum), triangles, |read| {
        let mut total = 0;
        for triangle in read.get_triangles()?.iter() {
            let normal = triangle.get_normal()?;
            total += mesh::part(normal.get_x(), normal.get_y(), normal.get_z());
        }
        Ok(total)
    })?;
    let data = minecraft::make();
    let sum = minecraft::sum(&data);
    data_set::<cp::players::Owned, _>(&mut suite, ("minecraft_savedata", data, sum), players, |read| {
        Ok(read.get_players()?.iter().map(|player| u64::from(player.get_game_type())).sum())
    })?;
    let data = mk48::make();
    let sum = mk48::sum(&data);
    data_set::<cp::updates::Owned, _>(&mut suite, ("mk48", data, sum), updates, |read| {
        Ok(read.get_updates()?.iter().map(|update| u64::from(update.get_score())).sum())
    })?;
    Ok(suite)
}
