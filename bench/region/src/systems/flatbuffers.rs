//! FlatBuffers, the crate flatbuffers 25.12: tables that its verifier checks and that are read in place. In
//! Rust they cannot be changed in place. The accessors are declared here, with the library calls of generated
//! ones.

use std::hint::black_box;

use flatbuffers::{
    FlatBufferBuilder, Follow, ForwardsUOffset, InvalidFlatbuffer, Push, SimpleToVerifyInSlice, Table,
    Vector, Verifiable, Verifier, WIPOffset,
};

use super::{NoUpdate, Set};
use crate::data::{log, mesh, minecraft, mk48};
use crate::suite::{Aligned, Outcome, Suite};

/// A struct of FlatBuffers: bytes without a table.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Bytes<const SIZE: usize, const ALIGN: usize>([u8; SIZE]);

impl<'a, const SIZE: usize, const ALIGN: usize> Follow<'a> for &'a Bytes<SIZE, ALIGN> {
    type Inner = Self;
    unsafe fn follow(buf: &'a [u8], loc: usize) -> Self {
        // SAFETY: the caller promises that a value lies there, and bytes need no alignment.
        unsafe { &*buf.as_ptr().add(loc).cast::<Bytes<SIZE, ALIGN>>() }
    }
}

impl<'a, const SIZE: usize, const ALIGN: usize> Follow<'a> for Bytes<SIZE, ALIGN> {
    type Inner = &'a Self;
    unsafe fn follow(buf: &'a [u8], loc: usize) -> &'a Self {
        // SAFETY: as above.
        unsafe { <&'a Self>::follow(buf, loc) }
    }
}

impl<const SIZE: usize, const ALIGN: usize> Push for Bytes<SIZE, ALIGN> {
    type Output = Self;
    unsafe fn push(&self, dst: &mut [u8], _: usize) {
        dst[..SIZE].copy_from_slice(&self.0);
    }
    fn alignment() -> flatbuffers::PushAlignment {
        flatbuffers::PushAlignment::new(ALIGN)
    }
}

impl<const SIZE: usize, const ALIGN: usize> Verifiable for Bytes<SIZE, ALIGN> {
    fn run_verifier(v: &mut Verifier, pos: usize) -> Result<(), InvalidFlatbuffer> {
        v.in_buffer::<Self>(pos)
    }
}

impl<const SIZE: usize, const ALIGN: usize> SimpleToVerifyInSlice for Bytes<SIZE, ALIGN> {}

impl<const SIZE: usize, const ALIGN: usize> Bytes<SIZE, ALIGN> {
    /// Begins to collect the members.
    fn new() -> (Self, usize) {
        (Self([0; SIZE]), 0)
    }
    fn f32_at(&self, at: usize) -> f32 {
        f32::from_le_bytes([self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]])
    }
}

fn put<const SIZE: usize, const ALIGN: usize, const N: usize>(
    (bytes, at): &mut (Bytes<SIZE, ALIGN>, usize),
    part: [u8; N],
) {
    bytes.0[*at..*at + N].copy_from_slice(&part);
    *at += N;
}

/// Declares a table: the offsets of its members in the vtable, and their types.
macro_rules! table {
    ($name:ident<$a:lifetime> { $($member:ident: $at:literal $type:ty),* $(,)? }) => {
        #[derive(Clone, Copy)]
        struct $name<$a> {
            table: Table<$a>,
        }

        impl<$a> Follow<$a> for $name<$a> {
            type Inner = Self;
            unsafe fn follow(buf: &$a [u8], loc: usize) -> Self {
                // SAFETY: the caller promises that a table lies there.
                Self { table: unsafe { Table::new(buf, loc) } }
            }
        }

        impl<$a> Verifiable for $name<$a> {
            fn run_verifier(v: &mut Verifier, pos: usize) -> Result<(), InvalidFlatbuffer> {
                v.visit_table(pos)?
                    $(.visit_field::<$type>(stringify!($member), $at, false)?)*
                    .finish();
                Ok(())
            }
        }

        #[allow(dead_code, reason = "not every member is read")]
        impl<$a> $name<$a> {
            $(fn $member(self) -> Option<<$type as Follow<$a>>::Inner> {
                // SAFETY: the table was verified, or this program wrote it. The type is the member's.
                unsafe { self.table.get::<$type>($at, None) }
            })*
        }
    };
}

/// Writes a table, largest members first, as generated code does.
macro_rules! write_table {
    ($builder:ident, $($at:literal $value:expr),* $(,)?) => {{
        let start = $builder.start_table();
        $($builder.push_slot_always($at, $value);)*
        let end = $builder.end_table(start);
        WIPOffset::new(end.value())
    }};
}

/// The root of a message that was verified, or that this program wrote.
macro_rules! unchecked {
    ($type:ident, $bytes:expr) => {
        // SAFETY: messages come from this program's own builder.
        unsafe { flatbuffers::root_unchecked::<$type<'_>>($bytes) }
    };
}

mod character;

type Address = Bytes<4, 1>;
type Triangle = Bytes<48, 4>;
type Abilities = Bytes<16, 4>;
type Point = Bytes<24, 8>;
type Place = Bytes<24, 8>;
type Turn = Bytes<8, 4>;
type Uuid = Bytes<16, 4>;
type Transform = Bytes<16, 4>;
type Guidance = Bytes<6, 2>;

table!(Log<'a> {
    address: 4 Address, identity: 6 ForwardsUOffset<&'a str>, userid: 8 ForwardsUOffset<&'a str>,
    date: 10 ForwardsUOffset<&'a str>, request: 12 ForwardsUOffset<&'a str>, code: 14 u16, size: 16 u64,
});
table!(Logs<'a> { logs: 4 ForwardsUOffset<Vector<'a, ForwardsUOffset<Log<'a>>>> });
table!(Mesh<'a> { triangles: 4 ForwardsUOffset<Vector<'a, Triangle>> });
table!(Item<'a> { count: 4 i8, slot: 6 u8, id: 8 ForwardsUOffset<&'a str> });
table!(Entity<'a> {
    id: 4 ForwardsUOffset<&'a str>, pos: 6 Point, motion: 8 Point, rotation: 10 Turn, fall_distance: 12 f32,
    fire: 14 u16, air: 16 u16, on_ground: 18 bool, no_gravity: 20 bool, invulnerable: 22 bool,
    portal_cooldown: 24 i32, uuid: 26 Uuid, custom_name: 28 ForwardsUOffset<&'a str>,
    custom_name_visible: 30 bool, silent: 32 bool, glowing: 34 bool,
});
table!(RecipeBook<'a> {
    recipes: 4 ForwardsUOffset<Vector<'a, ForwardsUOffset<&'a str>>>,
    to_be_displayed: 6 ForwardsUOffset<Vector<'a, ForwardsUOffset<&'a str>>>,
    flags: 8 ForwardsUOffset<Vector<'a, bool>>,
});
table!(Vehicle<'a> { uuid: 4 Uuid, entity: 6 ForwardsUOffset<Entity<'a>> });
table!(Player<'a> {
    game_type: 4 u8, previous_game_type: 6 u8, score: 8 i64, dimension: 10 ForwardsUOffset<&'a str>,
    selected_item_slot: 12 u32, selected_item: 14 ForwardsUOffset<Item<'a>>,
    spawn_dimension: 16 ForwardsUOffset<&'a str>, spawn: 18 Place, spawn_forced: 20 bool, sleep_timer: 22 u16,
    food_exhaustion_level: 24 f32, food_saturation_level: 26 f32, food_tick_timer: 28 u32, xp_level: 30 u32,
    xp_p: 32 f32, xp_total: 34 i32, xp_seed: 36 i32,
    inventory: 38 ForwardsUOffset<Vector<'a, ForwardsUOffset<Item<'a>>>>,
    ender_items: 40 ForwardsUOffset<Vector<'a, ForwardsUOffset<Item<'a>>>>,
    abilities: 42 Abilities, entered_nether_position: 44 Point, root_vehicle: 46 ForwardsUOffset<Vehicle<'a>>,
    shoulder_left: 48 ForwardsUOffset<Entity<'a>>, shoulder_right: 50 ForwardsUOffset<Entity<'a>>,
    seen_credits: 52 bool, recipe_book: 54 ForwardsUOffset<RecipeBook<'a>>,
});
table!(Players<'a> { players: 4 ForwardsUOffset<Vector<'a, ForwardsUOffset<Player<'a>>>> });
table!(Contact<'a> {
    damage: 4 u8, entity_id: 6 u32, entity_type: 8 u8, guidance: 10 Guidance, player_id: 12 u16,
    reloads: 14 ForwardsUOffset<Vector<'a, bool>>, transform: 16 Transform,
    turret_angles: 18 ForwardsUOffset<Vector<'a, u16>>,
});
table!(Terrain<'a> { chunk_id: 4 Bytes<2, 1>, data: 6 ForwardsUOffset<Vector<'a, u8>> });
table!(Update<'a> {
    contacts: 4 ForwardsUOffset<Vector<'a, ForwardsUOffset<Contact<'a>>>>, score: 6 u32, world_radius: 8 f32,
    terrain_updates: 10 ForwardsUOffset<Vector<'a, ForwardsUOffset<Terrain<'a>>>>,
});
table!(Updates<'a> { updates: 4 ForwardsUOffset<Vector<'a, ForwardsUOffset<Update<'a>>>> });

type Builder = FlatBufferBuilder<'static>;

fn logs(b: &mut Builder, data: &log::Logs) -> WIPOffset<Logs<'static>> {
    let mut made = Vec::with_capacity(data.logs.len());
    for l in &data.logs {
        let identity = b.create_string(&l.identity);
        let userid = b.create_string(&l.userid);
        let date = b.create_string(&l.date);
        let request = b.create_string(&l.request);
        let address: Address = Bytes([l.address.x0, l.address.x1, l.address.x2, l.address.x3]);
        let one: WIPOffset<Log<'static>> = write_table!(
            b, 16 l.size, 12 request, 10 date, 8 userid, 6 identity, 4 address, 14 l.code
        );
        made.push(one);
    }
    let logs = b.create_vector(&made);
    write_table!(b, 4 logs)
}

fn triangles(b: &mut Builder, data: &mesh::Mesh) -> WIPOffset<Mesh<'static>> {
    let one = |t: &mesh::Triangle| -> Triangle {
        let mut made = Bytes::new();
        for v in [t.v0, t.v1, t.v2, t.normal] {
            put(&mut made, v.x.to_le_bytes());
            put(&mut made, v.y.to_le_bytes());
            put(&mut made, v.z.to_le_bytes());
        }
        made.0
    };
    let triangles = b.create_vector_from_iter(data.triangles.iter().map(one));
    write_table!(b, 4 triangles)
}

fn item(b: &mut Builder, from: &minecraft::Item) -> WIPOffset<Item<'static>> {
    let id = b.create_string(&from.id);
    write_table!(b, 8 id, 6 from.slot, 4 from.count)
}

fn point(from: [f64; 3]) -> Point {
    let mut made = Bytes::new();
    from.into_iter().for_each(|each| put(&mut made, each.to_le_bytes()));
    made.0
}

fn uuid(from: [u32; 4]) -> Uuid {
    let mut made = Bytes::new();
    from.into_iter().for_each(|each| put(&mut made, each.to_le_bytes()));
    made.0
}

fn entity(b: &mut Builder, from: &minecraft::Entity) -> WIPOffset<Entity<'static>> {
    let id = b.create_string(&from.id);
    let custom_name = from.custom_name.as_ref().map(|name| b.create_string(name));
    let mut rotation = Turn::new();
    from.rotation.into_iter().for_each(|each| put(&mut rotation, each.to_le_bytes()));
    let start = b.start_table();
    b.push_slot_always(6, point(from.pos));
    b.push_slot_always(8, point(from.motion));
    b.push_slot_always(26, uuid(from.uuid));
    b.push_slot_always(10, rotation.0);
    if let Some(name) = custom_name {
        b.push_slot_always(28, name);
    }
    b.push_slot_always(4, id);
    b.push_slot_always(12, from.fall_distance);
    b.push_slot_always(24, from.portal_cooldown);
    b.push_slot_always(14, from.fire);
    b.push_slot_always(16, from.air);
    b.push_slot(18, from.on_ground, false);
    b.push_slot(20, from.no_gravity, false);
    b.push_slot(22, from.invulnerable, false);
    b.push_slot(30, from.custom_name_visible, false);
    b.push_slot(32, from.silent, false);
    b.push_slot(34, from.glowing, false);
    let end = b.end_table(start);
    WIPOffset::new(end.value())
}

fn texts(b: &mut Builder, from: &[String]) -> WIPOffset<Vector<'static, ForwardsUOffset<&'static str>>> {
    let made: Vec<_> = from.iter().map(|text| b.create_string(text)).collect();
    b.create_vector(&made)
}

fn player(b: &mut Builder, from: &minecraft::Player) -> WIPOffset<Player<'static>> {
    let dimension = b.create_string(&from.dimension);
    let selected = item(b, &from.selected_item);
    let spawn_dimension = from.spawn_dimension.as_ref().map(|text| b.create_string(text));
    let inventory: Vec<_> = from.inventory.iter().map(|each| item(b, each)).collect();
    let inventory = b.create_vector(&inventory);
    let ender: Vec<_> = from.ender_items.iter().map(|each| item(b, each)).collect();
    let ender = b.create_vector(&ender);
    let vehicle: Option<WIPOffset<Vehicle<'static>>> = from.root_vehicle.as_ref().map(|vehicle| {
        let entity = entity(b, &vehicle.entity);
        write_table!(b, 4 uuid(vehicle.uuid), 6 entity)
    });
    let left = from.shoulder_entity_left.as_ref().map(|each| entity(b, each));
    let right = from.shoulder_entity_right.as_ref().map(|each| entity(b, each));
    let recipes = texts(b, &from.recipe_book.recipes);
    let displayed = texts(b, &from.recipe_book.to_be_displayed);
    let flags = b.create_vector(&from.recipe_book.flags);
    let book: WIPOffset<RecipeBook<'static>> = write_table!(b, 4 recipes, 6 displayed, 8 flags);
    let a = from.abilities;
    let mut abilities = Abilities::new();
    put(&mut abilities, a.walk_speed.to_le_bytes());
    put(&mut abilities, a.fly_speed.to_le_bytes());
    put(&mut abilities, [a.may_fly, a.flying, a.invulnerable, a.may_build, a.instabuild].map(u8::from));
    let mut spawn = Place::new();
    from.spawn.into_iter().for_each(|each| put(&mut spawn, each.to_le_bytes()));
    let start = b.start_table();
    b.push_slot_always(8, from.score);
    b.push_slot_always(18, spawn.0);
    if let Some(position) = from.entered_nether_position {
        b.push_slot_always(44, point(position));
    }
    b.push_slot_always(54, book);
    if let Some(right) = right {
        b.push_slot_always(50, right);
    }
    if let Some(left) = left {
        b.push_slot_always(48, left);
    }
    if let Some(vehicle) = vehicle {
        b.push_slot_always(46, vehicle);
    }
    b.push_slot_always(42, abilities.0);
    b.push_slot_always(40, ender);
    b.push_slot_always(38, inventory);
    b.push_slot_always(36, from.xp_seed);
    b.push_slot_always(34, from.xp_total);
    b.push_slot_always(32, from.xp_p);
    b.push_slot_always(30, from.xp_level);
    b.push_slot_always(28, from.food_tick_timer);
    b.push_slot_always(26, from.food_saturation_level);
    b.push_slot_always(24, from.food_exhaustion_level);
    if let Some(dimension) = spawn_dimension {
        b.push_slot_always(16, dimension);
    }
    b.push_slot_always(14, selected);
    b.push_slot_always(12, from.selected_item_slot);
    b.push_slot_always(10, dimension);
    b.push_slot_always(22, from.sleep_timer);
    b.push_slot(52, from.seen_credits, false);
    if let Some(forced) = from.spawn_forced {
        b.push_slot_always(20, forced);
    }
    b.push_slot(6, from.previous_game_type as u8, 0);
    b.push_slot(4, from.game_type as u8, 0);
    let end = b.end_table(start);
    WIPOffset::new(end.value())
}

fn players(b: &mut Builder, data: &minecraft::Players) -> WIPOffset<Players<'static>> {
    let made: Vec<_> = data.players.iter().map(|each| player(b, each)).collect();
    let players = b.create_vector(&made);
    write_table!(b, 4 players)
}

fn contact(b: &mut Builder, from: &mk48::Contact) -> WIPOffset<Contact<'static>> {
    let reloads = b.create_vector(&from.reloads);
    let angles = b.create_vector(&from.turret_angles);
    let mut guidance = Guidance::new();
    put(&mut guidance, from.guidance.angle.to_le_bytes());
    put(&mut guidance, from.guidance.velocity.to_le_bytes());
    put(&mut guidance, [u8::from(from.guidance.submerge)]);
    let t = &from.transform;
    let mut transform = Transform::new();
    put(&mut transform, t.position[0].to_le_bytes());
    put(&mut transform, t.position[1].to_le_bytes());
    put(&mut transform, t.angle.to_le_bytes());
    put(&mut transform, t.velocity.to_le_bytes());
    put(&mut transform, t.altitude.to_le_bytes());
    let start = b.start_table();
    b.push_slot_always(18, angles);
    b.push_slot_always(16, transform.0);
    b.push_slot_always(14, reloads);
    b.push_slot_always(6, from.entity_id);
    if let Some(id) = from.player_id {
        b.push_slot_always(12, id);
    }
    b.push_slot_always(10, guidance.0);
    if let Some(kind) = from.entity_type {
        b.push_slot_always(8, kind as u8);
    }
    b.push_slot(4, from.damage, 0);
    let end = b.end_table(start);
    WIPOffset::new(end.value())
}

fn updates(b: &mut Builder, data: &mk48::Updates) -> WIPOffset<Updates<'static>> {
    let mut made: Vec<WIPOffset<Update<'static>>> = Vec::with_capacity(data.updates.len());
    for from in &data.updates {
        let contacts: Vec<_> = from.contacts.iter().map(|each| contact(b, each)).collect();
        let contacts = b.create_vector(&contacts);
        let mut terrain: Vec<WIPOffset<Terrain<'static>>> = Vec::with_capacity(from.terrain_updates.len());
        for each in &from.terrain_updates {
            let data = b.create_vector(&each.data);
            let chunk: Bytes<2, 1> = Bytes(each.chunk_id.map(|each| each as u8));
            terrain.push(write_table!(b, 6 data, 4 chunk));
        }
        let terrain = b.create_vector(&terrain);
        made.push(write_table!(b, 10 terrain, 8 from.world_radius, 6 from.score, 4 contacts));
    }
    let updates = b.create_vector(&made);
    write_table!(b, 4 updates)
}

/// Adds one data set.
fn data_set<T, D: 'static>(
    suite: &mut Suite,
    (name, data, sum): (&'static str, D, u64),
    write: fn(&mut Builder, &D) -> WIPOffset<T>,
    read: fn(&[u8]) -> u64,
    check: fn(&[u8]) -> Result<(), InvalidFlatbuffer>,
) -> Outcome<()>
where
    T: 'static,
{
    let mut builder = Builder::with_capacity(10_000_000);
    let root = write(&mut builder, &data);
    builder.finish_minimal(root);
    let bytes = Aligned::new(builder.finished_data());
    let read = move |bytes: &[u8]| -> Outcome<u64> { Ok(read(bytes)) };
    let validate = move |bytes: &[u8]| -> Outcome<()> { Ok(check(bytes)?) };
    Set { name, sum, bytes, read, update: None::<NoUpdate>, validate: Some(validate) }.add(suite, move || {
        builder.reset();
        let root = write(&mut builder, black_box(&data));
        builder.finish_minimal(root);
        black_box(builder.finished_data());
        Ok(())
    })
}

/// The verifier, with limits above those of the data sets.
macro_rules! verify {
    ($type:ident) => {
        |bytes| {
            let options = flatbuffers::VerifierOptions { max_tables: 10_000_000, ..Default::default() };
            black_box(flatbuffers::root_with_opts::<$type<'_>>(&options, bytes)?.table.loc());
            Ok(())
        }
    };
}

/// All operations of the system.
pub fn suite() -> Outcome<Suite> {
    let mut suite = Suite::default();
    character::add(&mut suite)?;
    let data = log::make();
    let sum = log::sum(&data);
    let read = |bytes: &[u8]| -> u64 {
        let part = |l: Log<'_>| {
            let address = l.address().map_or([0; 4], |a| a.0);
            log::part(address, l.code().unwrap_or(0), l.size().unwrap_or(0))
        };
        unchecked!(Logs, bytes).logs().map_or(0, |logs| logs.iter().map(part).sum())
    };
    data_set(&mut suite, ("log", data, sum), logs, read, verify!(Logs))?;
    let data = mesh::make();
    let sum = mesh::sum(&data);
    let read = |bytes: &[u8]| -> u64 {
        let part = |t: &Triangle| mesh::part(t.f32_at(36), t.f32_at(40), t.f32_at(44));
        unchecked!(Mesh, bytes).triangles().map_or(0, |triangles| triangles.iter().map(part).sum())
    };
    data_set(&mut suite, ("mesh", data, sum), triangles, read, verify!(Mesh))?;
    let data = minecraft::make();
    let sum = minecraft::sum(&data);
    let read = |bytes: &[u8]| -> u64 {
        let part = |player: Player<'_>| u64::from(player.game_type().unwrap_or(0));
        unchecked!(Players, bytes).players().map_or(0, |players| players.iter().map(part).sum())
    };
    data_set(&mut suite, ("minecraft_savedata", data, sum), players, read, verify!(Players))?;
    let data = mk48::make();
    let sum = mk48::sum(&data);
    let read = |bytes: &[u8]| -> u64 {
        let part = |update: Update<'_>| u64::from(update.score().unwrap_or(0));
        unchecked!(Updates, bytes).updates().map_or(0, |updates| updates.iter().map(part).sum())
    };
    data_set(&mut suite, ("mk48", data, sum), updates, read, verify!(Updates))?;
    Ok(suite)
}
