// The run as it lies in the page: a small index that is read at once, and the records in parts that are read when
// they are looked at. Both are JSON, packed with gzip and written in base64.

async function unpacked(id) {
  const written = atob(byId(id).textContent);
  const bytes = new Uint8Array(written.length);
  for (let at = 0; at < written.length; at++) bytes[at] = written.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

// `index.columns` has a list per column; here they become one object an episode.
function rowsOf(index) {
  const names = Object.keys(index.columns);
  return index.columns.id.map((_, place) => {
    const row = { place };
    for (const name of names) row[name] = index.columns[name][place];
    row.start = length(row.start);
    row.course = [row.start, ...row.course.map(length)];
    row.losses = row.pivots.map((at) => row.course[at + 1] - row.course[at]);
    row.haystack = `${row.id}\n${row.task}\n${row.level}\n${row.kind}`.toLowerCase();
    return row;
  });
}

class Store {
  constructor(index) {
    this.starts = index.starts; // the first episode of each part
    this.rows = rowsOf(index);
    this.kept = new Map(); // part -> promise of its records; the last few that were asked for
  }

  partOf(place) {
    let part = this.starts.length - 1;
    while (this.starts[part] > place) part--;
    return part;
  }

  async record(place) {
    const part = this.partOf(place);
    const records = await this.part(part);
    return records[place - this.starts[part]];
  }

  part(part) {
    const reading = this.kept.get(part) ?? unpacked(`part-${part}`).then((records) => records.map(withPrompts));
    this.kept.delete(part);
    this.kept.set(part, reading);
    if (this.kept.size > 4) this.kept.delete(this.kept.keys().next().value);
    return reading;
  }

  // Which episodes say `words` anywhere, part by part; stops where `wanted` says that nobody waits any more.
  async *saying(words, wanted) {
    for (let part = 0; part < this.starts.length; part++) {
      const records = await unpacked(`part-${part}`);
      const found = [];
      records.forEach((record, at) => {
        const row = this.rows[this.starts[part] + at];
        const text = `${row.haystack}\n${said(record)}`.toLowerCase();
        if (words.every((word) => text.includes(word))) found.push(row.place);
      });
      if (!wanted()) return;
      yield { found, share: (part + 1) / this.starts.length };
    }
  }
}

// All that was seen and done in an episode, and what a model answered; not what it was asked, which repeats all this.
function said(record) {
  const texts = [record.observation];
  for (const act of record.acts) texts.push(act.action, act.observation, act.reason, act.invalid ?? "", act.injected ?? "", act.call?.text ?? "");
  return texts.map((text) => (typeof text === "string" ? text : JSON.stringify(text))).join("\n");
}

// A call only says how many messages it has in common with the one before.
function withPrompts(record) {
  let before = [];
  for (const act of record.acts) {
    if (act.call === null || act.call === undefined) continue;
    before = act.call.messages = [...before.slice(0, act.call.kept), ...act.call.messages];
  }
  record.distance = length(record.distance);
  for (const act of record.acts) {
    act.previous = length(act.previous);
    act.distance = length(act.distance);
  }
  return record;
}
