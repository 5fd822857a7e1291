use super::*;

fn operator(name: &str, reason: &str, changes: Option<f64>) -> OperatorNow {
    OperatorNow {
        name: name.to_owned(),
        ready: Some(Condition {
            status: if reason == "Ready" { "True" } else { "Unknown" }.to_owned(),
            reason: reason.to_owned(),
            message: format!("the message of {name}"),
        }),
        numbers: Numbers {
            changes,
            objects: Some(1200.0),
            ..Numbers::default()
        },
        ..OperatorNow::default()
    }
}

const BY_NAME: Order = Order {
    column: Column::Name,
    descending: false,
};

fn fleet() -> Vec<OperatorNow> {
    vec![
        operator(
            "shop-frontend-production",
            "ReconciliationFailed",
            Some(3.0),
        ),
        operator("a", "Ready", None),
        operator("b", "Ready", Some(12.0)),
    ]
}

#[test]
fn rows_are_sorted_and_unknown_values_are_last() {
    let fleet = fleet();
    let sorted = |column, descending| {
        let mut rows: Vec<Row<'_>> = fleet.iter().map(Row::from).collect();
        Order { column, descending }.sort(&mut rows);
        let names: Vec<&str> = rows.iter().map(|row| &row.name[..1]).collect();
        names.concat()
    };
    assert_eq!(sorted(Column::Name, false), "abs");
    assert_eq!(sorted(Column::Name, true), "sba");
    assert_eq!(sorted(Column::Changes, true), "bsa");
    assert_eq!(sorted(Column::Changes, false), "sba");
    assert_eq!(sorted(Column::Ready, false), "abs");
    assert_eq!(sorted(Column::Ready, true), "sab");
    // All are the same.
    assert_eq!(sorted(Column::Objects, true), "abs");
}

#[test]
fn a_table_is_never_wider_than_the_screen() {
    let fleet = fleet();
    let rows: Vec<Row<'_>> = fleet.iter().map(Row::from).collect();
    for width in 0..260 {
        for of_operators in [true, false] {
            let table = Table::fit(&rows, of_operators, Some(BY_NAME), Some(width));
            for line in rows
                .iter()
                .map(|row| table.row(row))
                .chain([table.header()])
            {
                let found = line.plain().width();
                assert!(found <= width.max(9), "{found} > {width}: {}", line.plain());
            }
        }
    }
}

#[test]
fn wider_screens_have_more_columns() {
    let fleet = fleet();
    let rows: Vec<Row<'_>> = fleet.iter().map(Row::from).collect();
    let columns = |width| Table::fit(&rows, true, Some(BY_NAME), width).columns.len();
    assert_eq!(columns(Some(78)), 9);
    assert_eq!(columns(Some(200)), ALL.len());
    assert_eq!(columns(None), ALL.len());
    assert_eq!(columns(Some(20)), 2);
    let widths: Vec<usize> = (20..200).map(|width| columns(Some(width))).collect();
    assert!(widths.is_sorted(), "{widths:?}");
}
