// Sokoban's rooms and MineSweeper's boards as pictures, drawn from the text that the agent saw.

const ROOM = new Set("#_O√XPS");
const BOARD = new Set("?.F*12345678");

// { kind, rows: [[sign]] }, or null where the text is no grid.
function gridOf(text) {
  if (typeof text !== "string" || text.length > 20000) return null;
  const lines = text.replace(/\n$/, "").split("\n");
  if (lines.length < 3) return null;
  const board = lines.map((line) => /^Row \d+: (.*)$/.exec(line)?.[1].split(" "));
  if (board.every((row) => row !== undefined)) return gridIf("board", board, BOARD);
  return gridIf("room", lines.map((line) => [...line.replace(/^\d+:/, "").replace(/\s/g, "")]), ROOM);
}

function gridIf(kind, rows, signs) {
  const width = rows[0].length;
  return width >= 3 && rows.every((row) => row.length === width && row.every((cell) => signs.has(cell))) ? { kind, rows } : null;
}

function gridPicture(grid, label) {
  const width = grid.rows[0].length, height = grid.rows.length;
  const tile = Math.max(10, Math.min(20, Math.floor(170 / Math.max(width, height))));
  const scale = window.devicePixelRatio || 1;
  const canvas = element("canvas", { width: Math.round(width * tile * scale), height: Math.round(height * tile * scale), role: "img", "aria-label": label });
  canvas.style.width = `${width * tile}px`;
  const brush = canvas.getContext("2d");
  brush.scale((scale * tile) / 20, (scale * tile) / 20); // below, a tile is 20 by 20
  const paint = grid.kind === "room" ? paintRoom : paintBoard;
  grid.rows.forEach((row, y) => row.forEach((cell, x) => {
    brush.save();
    brush.translate(x * 20, y * 20);
    paint(brush, cell);
    brush.restore();
  }));
  return canvas;
}

function block(brush, colour, inset = 0) {
  brush.fillStyle = colour;
  brush.fillRect(inset, inset, 20 - 2 * inset, 20 - 2 * inset);
}

function disc(brush, colour, radius, x = 10, y = 10) {
  brush.fillStyle = colour;
  brush.beginPath();
  brush.arc(x, y, radius, 0, 2 * Math.PI);
  brush.fill();
}

function paintRoom(brush, cell) {
  if (cell === "#") {
    block(brush, "#4b515e");
    block(brush, "#5d6473", 0.5);
    return;
  }
  block(brush, "#e2dbcd");
  block(brush, "#eee8dc", 0.5);
  if (cell === "O" || cell === "√" || cell === "S") {
    block(brush, "#d0484c", 2.5);
    block(brush, "#eee8dc", 4);
    disc(brush, "#d0484c", 2.5);
  }
  if (cell === "X" || cell === "√") {
    const [wood, beam] = cell === "X" ? ["#d6a054", "#96642c"] : ["#68b060", "#34703a"];
    block(brush, beam, 2.5);
    block(brush, wood, 4);
    brush.strokeStyle = beam;
    brush.lineWidth = 1.5;
    brush.strokeRect(4, 4, 12, 12);
    brush.beginPath();
    brush.moveTo(4, 4);
    brush.lineTo(16, 16);
    brush.moveTo(16, 4);
    brush.lineTo(4, 16);
    brush.stroke();
  }
  if (cell === "P" || cell === "S") {
    disc(brush, "#1c3e7a", 6.5);
    disc(brush, "#346cc4", 5.5);
    disc(brush, "#fadeba", 1.6, 7.8, 8.8);
    disc(brush, "#fadeba", 1.6, 12.2, 8.8);
  }
}

const DIGITS = ["", "#1950d2", "#1e7a32", "#c82828", "#141978", "#7d191e", "#00727a", "#141414", "#5f5f5f"];

function paintBoard(brush, cell) {
  block(brush, "#c4c7cf");
  if (cell === "?" || cell === "F") {
    block(brush, "#9ea6b3", 0.5);
    brush.fillStyle = "#bcc3ce";
    brush.fillRect(0.5, 0.5, 19, 1.6);
    brush.fillRect(0.5, 0.5, 1.6, 19);
  } else {
    block(brush, cell === "*" ? "#e24842" : "#e9eaed", 0.5);
  }
  if (cell === "*") disc(brush, "#1e2026", 5);
  if (cell === "F") {
    brush.fillStyle = "#c82832";
    brush.beginPath();
    brush.moveTo(7, 4);
    brush.lineTo(15, 7.5);
    brush.lineTo(7, 11);
    brush.fill();
    brush.fillStyle = "#1e2026";
    brush.fillRect(6, 4, 1.6, 12);
  }
  if (cell >= "1" && cell <= "8") {
    brush.fillStyle = DIGITS[Number(cell)];
    brush.font = "bold 13px sans-serif";
    brush.textAlign = "center";
    brush.textBaseline = "middle";
    brush.fillText(cell, 10, 10.8);
  }
}
