//! Members under both of their names: `functionDeclarations`, as documented, and `function_declarations`, as the
//! service's own definition has it; the service reads either. Where it wants a list it reads a lone object, too.

use crate::splice::{Container, Item};

/// The member under either name.
pub(super) fn item<'c, 'a>(object: &'c Container<'a>, name: &str) -> Option<&'c Item<'a>> {
    object.get(name).or_else(|| object.get(&snake(name)))
}

/// Its text, if it is there and not `null`.
pub(super) fn value<'a>(object: &Container<'a>, name: &str) -> Option<&'a str> {
    item(object, name).map(|item| item.value).filter(|value| *value != "null")
}

/// The member, if it is an object.
pub(super) fn child<'a>(object: &Container<'a>, name: &str) -> Option<Container<'a>> {
    Container::object(object.doc(), value(object, name)?).ok()
}

/// The elements of the member, if it is an array.
pub(super) fn children<'a>(object: &Container<'a>, name: &str) -> Option<Container<'a>> {
    Container::array(object.doc(), value(object, name)?).ok()
}

/// The objects of a list; nothing else.
pub(super) fn each<'a>(object: &Container<'a>, name: &str) -> Vec<Container<'a>> {
    match children(object, name) {
        Some(list) => list.items.iter().filter_map(|item| list.element(item)).collect(),
        None => child(object, name).into_iter().collect(),
    }
}

/// The name to write a member under: the one it has, else the documented one.
pub(super) fn spelled(object: &Container<'_>, name: &str) -> String {
    item(object, name).map_or_else(|| name.to_owned(), |item| item.name.clone().into_owned())
}

/// Both names of a member.
pub(super) fn both(name: &str) -> [String; 2] {
    [name.to_owned(), snake(name)]
}

fn snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 2);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}
