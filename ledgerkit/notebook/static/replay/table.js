// Rows that lead to replays: choosing one opens its run below, at its step. Cells are text, like everything here.

function rowTable(model, signal) {
  const host = element("div", "lk lkr-links");
  host.tabIndex = 0;
  host.setAttribute("role", "region");
  host.setAttribute("aria-label", model.get("title") || "Rows that open their replay");
  const table = element("table");
  const head = element("tr");
  head.append(element("th", "", ""), ...model.get("columns").map(([name, side]) => element("th", side, name)));
  const rows = model.get("rows").map((cells, number) => linkedRow(model, cells, number));
  const body = element("tbody");
  body.append(...rows);
  const top = element("thead");
  top.append(head);
  table.append(element("caption", "", model.get("note")), top, body);
  host.append(table);
  const mark = () => rows.forEach((row, number) => row.setAttribute("aria-selected", String(number === model.get("chosen"))));
  model.on("change:chosen", mark);
  signal.addEventListener("abort", () => model.off("change:chosen", mark));
  mark();
  return host;
}

function linkedRow(model, cells, number) {
  const row = element("tr");
  const open = () => {
    model.set("chosen", number);
    model.save_changes();
  };
  const cell = element("td");
  cell.append(button("replay", `Replay what row ${number + 1} is about`, (event) => {
    event.stopPropagation();
    open();
  }));
  row.append(cell, ...cells.map(([text, tone], at) => {
    const made = element("td", model.get("columns")[at][1]);
    made.append(tone ? chip(text, tone) : text);
    made.title = text;
    return made;
  }));
  row.addEventListener("click", open);
  return row;
}
