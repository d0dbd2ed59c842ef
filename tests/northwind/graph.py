"""Northwind, the shop that many databases show their language with: its CSV files as a graph, and as tables of DuckDB.

The files lie beside the repository (`../shared/data/northwind`). DuckDB reads them once; the graph takes what it
gives as Arrow, by the names of the columns (docs/IMPORT.md).
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Mapping
from pathlib import Path

import duckdb
import pyarrow

import gdb

TABLES = (
    *("categories", "customers", "employees", "orders", "products", "regions", "shippers"),
    *("suppliers", "territories", "employee-territories", "order-details"),
)
NODES = {
    "Category": 'SELECT categoryID AS ":ID(Category)", categoryName AS name, description FROM categories',
    "Customer": """SELECT customerID AS ":ID(Customer)", companyName AS name, contactName AS contact, city, region,
        country, fax FROM customers""",
    "Employee": """SELECT employeeID AS ":ID(Employee)", firstName AS first, lastName AS last, title, city, country,
        birthDate::DATE AS born, hireDate::DATE AS hired FROM employees""",
    "Order": """SELECT orderID AS ":ID(Order)", orderDate::DATE AS ordered, requiredDate::DATE AS required,
        shippedDate::DATE AS shipped, freight::DOUBLE AS freight, shipCountry AS country FROM orders""",
    "Product": """SELECT productID AS ":ID(Product)", productName AS name, unitPrice::DOUBLE AS price,
        unitsInStock AS stock, discontinued = 1 AS discontinued FROM products""",
    "Region": 'SELECT regionID AS ":ID(Region)", trim(regionDescription) AS name FROM regions',
    "Shipper": 'SELECT shipperID AS ":ID(Shipper)", companyName AS name FROM shippers',
    "Supplier": """SELECT supplierID AS ":ID(Supplier)", companyName AS name, city, country FROM suppliers""",
    "Territory": """SELECT territoryID AS ":ID(Territory)", trim(territoryDescription) AS name FROM territories""",
}
RELATIONSHIPS = {
    "PURCHASED": 'SELECT customerID AS ":START_ID(Customer)", orderID AS ":END_ID(Order)" FROM orders',
    "SOLD": 'SELECT employeeID AS ":START_ID(Employee)", orderID AS ":END_ID(Order)" FROM orders',
    "SHIPPED_BY": 'SELECT orderID AS ":START_ID(Order)", shipVia AS ":END_ID(Shipper)" FROM orders',
    "CONTAINS": """SELECT orderID AS ":START_ID(Order)", productID AS ":END_ID(Product)", unitPrice::DOUBLE AS price,
        quantity, discount::DOUBLE AS discount FROM order_details""",
    "PART_OF": 'SELECT productID AS ":START_ID(Product)", categoryID AS ":END_ID(Category)" FROM products',
    "SUPPLIES": 'SELECT supplierID AS ":START_ID(Supplier)", productID AS ":END_ID(Product)" FROM products',
    "REPORTS_TO": """SELECT employeeID AS ":START_ID(Employee)", reportsTo AS ":END_ID(Employee)" FROM employees
        WHERE reportsTo IS NOT NULL""",
    "IN_TERRITORY": """SELECT employeeID AS ":START_ID(Employee)", territoryID AS ":END_ID(Territory)"
        FROM employee_territories""",
    "IN_REGION": 'SELECT territoryID AS ":START_ID(Territory)", regionID AS ":END_ID(Region)" FROM territories',
}


def tables(folder: Path) -> duckdb.DuckDBPyConnection:
    """The files as tables, `employee-territories.csv` as employee_territories; the text NULL is null."""
    found = duckdb.connect()
    with tempfile.TemporaryDirectory(prefix="gdb-northwind-") as temporary:
        for name in TABLES:
            file = Path(temporary) / f"{name}.csv"
            _mend(folder / file.name, file)
            read = f"read_csv('{file}', header = true, delim = ',', quote = '\"', nullstr = 'NULL')"
            found.execute(f"CREATE TABLE {name.replace('-', '_')} AS FROM {read}")
    return found


def _mend(source: Path, target: Path) -> None:
    """Addresses and names such as 2, rue du Commerce are there without quotes: of a line with too many fields
    those that begin with a blank belong to the one before."""
    with source.open(encoding="utf-8", newline="") as old, target.open("w", newline="") as new:
        reader, writer = csv.reader(old), csv.writer(new)
        header = next(reader)
        writer.writerow(header)
        for fields in reader:
            while len(fields) > len(header):
                at = next(k for k, field in enumerate(fields) if field.startswith(" "))
                fields[at - 1 : at + 1] = [f"{fields[at - 1]},{fields[at]}"]
            writer.writerow(fields)


def load(db: gdb.Database, source: duckdb.DuckDBPyConnection) -> None:
    """The graph of these tables."""

    def made(queries: Mapping[str, str]) -> dict[str, pyarrow.Table]:
        return {name: source.sql(query).to_arrow_table() for name, query in queries.items()}

    db.load(nodes=made(NODES), edges=made(RELATIONSHIPS))
