//! Every row of the table of versions over `GET /api/skills/resolve`: 200, 404 or 400, as the table says.

use std::collections::BTreeMap;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use crate::harness::Gateway;

const TABLE: &str = include_str!("../../../domain/tests/vectors/semver.tsv");

#[tokio::test]
async fn every_row_of_the_table_holds() {
    let gateway = Gateway::start().await;
    // One skill for each version, so that none is hidden by a higher one.
    let mut names = BTreeMap::new();
    let mut seen = BTreeMap::from([("y", 0), ("n", 0), ("invalid", 0), ("bad-version", 0)]);
    for row in TABLE.lines().skip(1) {
        let columns: Vec<&str> = row.split('\t').collect();
        let (constraint, version, expected) = (columns[0], columns[1], columns[2]);
        *seen.get_mut(expected).unwrap_or_else(|| panic!("{row}")) += 1;
        if expected == "bad-version" {
            let refused =
                gateway.install("bad", json!({"version": version})).await.expect(400, "invalid_field");
            assert_eq!(refused.json()["details"][0]["field"], "version", "{row}");
            continue;
        }
        let next = format!("skill {}", names.len());
        if let std::collections::btree_map::Entry::Vacant(place) = names.entry(version) {
            gateway.install(&next, json!({"version": version})).await.ok();
            place.insert(next);
        }
        let [name, wanted] =
            [names[version].as_str(), constraint].map(|text| utf8_percent_encode(text, NON_ALPHANUMERIC));
        let answer = gateway
            .manage("GET", &format!("/api/skills/resolve?name={name}&constraint={wanted}"), None)
            .await;
        match expected {
            "y" => assert_eq!(answer.ok()["version"], version, "{row}"),
            "n" => drop(answer.expect(404, "version_not_found")),
            _ => {
                let refused = answer.expect(400, "invalid_field").json();
                assert_eq!(refused["details"][0]["field"], "constraint", "{row}");
            }
        }
    }
    assert!(seen.values().all(|rows| *rows > 10), "{seen:?}");
}
