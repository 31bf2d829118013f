"""A user's SQL may read and nothing else: no statement that writes, however deep it is hidden.

DuckDB lets a SELECT write: through a common table expression that inserts, deletes or copies to a file, and through
a function that runs SQL from text. EXPLAIN ANALYZE runs whatever it explains. So the parsed form of a query is
looked at before it runs, and what is not known to read views is refused; files are no views, not even the ledger's.
"""

from __future__ import annotations

import json
import re
from typing import Final

import duckdb

from ledgerkit import errors

_EXPLAIN: Final = re.compile(r"\s*explain\b\s*(?:analyze\b|\([^()]*\))?", re.IGNORECASE)
_READING_NODES: Final = frozenset({"SELECT", "SET_OPERATION", "RECURSIVE_CTE", "CTE"})
_REFUSED_FUNCTION: Final = re.compile(
    r'"function_name":"(query|query_table|json_execute_serialized_sql|glob|(?:read|sniff|parquet)_[^"]*)"'
)
_TABLE: Final = re.compile(r'"table_name":("(?:[^"\\]|\\.)*")')

_FILE: Final = frozenset("./\\")
"""Characters that names of views do not have, and names of files do."""


def refuse_writes(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Refuses whatever is not one statement that only reads.

    Raises:
        QueryError: If it is not.
        duckdb.Error: If it cannot be parsed.
    """
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        raise errors.QueryError(f"Expected one statement, got {len(statements)}. Run them one by one.")
    kind = statements[0].type
    if kind is duckdb.StatementType.EXPLAIN:
        explained = _EXPLAIN.match(sql)
        if explained is None:
            raise errors.QueryError("Begin with EXPLAIN; a comment may follow the query.")
        refuse_writes(connection, sql[explained.end() :])
    elif kind is duckdb.StatementType.MULTI:
        raise errors.QueryError("List the values of a PIVOT: PIVOT … ON a_column IN ('one', 'two') USING count(*).")
    elif kind is not duckdb.StatementType.SELECT:
        raise _refusal(kind.name)
    else:
        _refuse_hidden_writes(connection, sql)


def _refuse_hidden_writes(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    parsed = str(connection.cursor().execute("select json_serialize_sql($sql)", {"sql": sql}).fetchall()[0][0])
    writing = set(re.findall(r'"type":"(\w+?)(?:_QUERY)?_NODE"', parsed)) - _READING_NODES
    if writing or parsed.startswith('{"error":true'):
        raise _refusal(" and ".join(sorted(writing)) or "this statement")
    if function := _REFUSED_FUNCTION.search(parsed.lower()):
        raise _refusal(f"{function[1]}()")
    for table in _TABLE.findall(parsed):
        name = str(json.loads(table)).strip('"')
        if not _FILE.isdisjoint(name):
            raise _refusal(f"the file {name!r}")


def _refusal(what: str) -> errors.QueryError:
    return errors.QueryError(f"A ledger is only read through SQL; {what} is refused. Use a SELECT.")
