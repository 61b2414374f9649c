/** A tool call as the request that a driver would send to a tool server: JSON-RPC after the Model Context Protocol. */
import { html, nothing, render } from 'lit/html.js';
import { ref } from 'lit/directives/ref.js';
import { WorkerClient } from '../worker/client.js';
import { glyph } from '../ui/glyph.js';
import { json } from '../ui/json.js';
import { closeButton, newWindow } from '../ui/window.js';
import { copy } from '../viewer/tree.js';
import '../ui/shared.js';
import 'sheet:./mcp.css';

/**
 * @typedef {object} Tool
 * @property {string} name
 * @property {{ readOnlyHint: boolean, destructiveHint: boolean, idempotentHint: boolean }} annotations
 */

const client = new WorkerClient();

/**
 * @typedef {object} Host  What the window may ask of the page.
 * @property {() => import('../pkg/crashlab.js').ScenarioInfo | null} about
 * @property {() => import('./reading.js').Foreign | null} foreign  A trace from a file, if one is shown.
 * @property {() => import('../pkg/crashlab.js').RecordView[]} records
 */

/**
 * @param {Host} host
 * @param {import('../pkg/crashlab.js').RecordView} record
 */
export async function open(host, record) {
  if (document.querySelector('dialog[open]')) return;
  const dialog = newWindow('mcp');
  const caller = callerOf(host);
  const draw = (/** @type {unknown} */ content) =>
    render(
      html`<header>
          <h2 id="mcp-title">This call as an MCP request</h2>
          ${closeButton(() => dialog.close())}
        </header>
        <div class="parts" tabindex="0" autofocus role="group" aria-label="Request and tools">
          ${content}
        </div>`,
      dialog,
    );
  draw(html`<p role="status">Writing the request…</p>`);
  dialog.showModal();
  try {
    const request = await client.call('mcp_request_of', record.line, caller.tracestate);
    const scenario = host.foreign() ? undefined : host.about()?.json;
    const tools = scenario ? await client.call('mcp_tools', scenario) : null;
    draw([requestPart(request, caller), tools ? toolsPart(tools, record.tool) : nothing]);
  } catch (error) {
    draw(html`<p role="alert">${/** @type {Error} */ (error).message}</p>`);
  }
}

/**
 * Who handed the run over: as its `run_start` says, and as the scenario wants it.
 * @param {Host} host
 * @returns {{ traceparent?: string, tracestate?: string, invalid?: string }}
 */
function callerOf(host) {
  const records = host.records();
  const about = host.about();
  const start = records.find(({ type }) => type === 'run_start');
  const { traceparent, tracestate } = start ? JSON.parse(start.line) : {};
  const asked = host.foreign() || !about ? undefined : JSON.parse(about.json).task?.traceparent;
  const invalid = asked && !traceparent && start ? String(asked) : undefined;
  return { traceparent: traceparent ?? undefined, tracestate: tracestate ?? undefined, invalid };
}

/** @param {string} text @param {string} name */
const copied = (text, name) => ref((element) => element?.replaceChildren(copy(name, () => text)));

/**
 * @param {string} request
 * @param {ReturnType<typeof callerOf>} caller
 */
function requestPart(request, { traceparent, tracestate, invalid }) {
  return html`<section aria-labelledby="mcp-request">
    <h3 id="mcp-request">Request <span ${copied(request, 'the request')}></span></h3>
    <p class="hint">
      What a driver would send to a tool server: JSON-RPC, as the specification of 2026-07-28 has
      it. The trace context stands in <code>_meta</code> under keys without a prefix, so that the
      server’s spans join this trace. Each attempt has a <code>traceparent</code> of its own.
    </p>
    <pre tabindex="0" role="group" aria-label="The request as JSON">${json(request)}</pre>
    <p class="hint">
      ${
        traceparent
          ? html`The run was handed over by
              <code>${traceparent}</code
              >${tracestate ? html` with <code>${tracestate}</code>` : ''}: its calls are part of
              that trace.`
          : invalid
            ? html`The scenario names a caller, <code>${invalid}</code>, which is no valid
                <code>traceparent</code>: it is ignored, together with its <code>tracestate</code>.`
            : html`Nobody handed this run over, so its trace begins with it. To let it join another
                one, give the scenario’s <code>task</code> a <code>traceparent</code>, and a
                <code>tracestate</code> if you like (Edit).`
      }
    </p>
  </section>`;
}

/**
 * @param {string} text
 * @param {string | null} called
 */
function toolsPart(text, called) {
  /** @type {Tool[]} */
  const tools = JSON.parse(text);
  const says = (/** @type {boolean} */ is) =>
    is ? html`${glyph('check')}yes` : html`<span class="no">no</span>`;
  return html`<section aria-labelledby="mcp-tools">
    <h3 id="mcp-tools">Tools <span ${copied(text, 'the tools')}></span></h3>
    <p class="hint">
      The flags by which the loop decides about gates and retries are MCP’s annotations. A tool
      without them is taken to be destructive and not idempotent.
    </p>
    <div class="table" tabindex="0" role="group" aria-label="The tools and their annotations">
      <table>
        <thead>
          <tr>
            <th scope="col">Tool</th>
            <th scope="col"><code>readOnlyHint</code></th>
            <th scope="col"><code>destructiveHint</code></th>
            <th scope="col"><code>idempotentHint</code></th>
          </tr>
        </thead>
        <tbody>
          ${tools.map(
            ({ name, annotations }) =>
              html`<tr class=${name === called ? 'called' : ''}>
                <th scope="row">
                  <code>${name}</code>${name === called ? html` <small>this call</small>` : nothing}
                </th>
                <td>${says(annotations.readOnlyHint)}</td>
                <td>${says(annotations.destructiveHint)}</td>
                <td>${says(annotations.idempotentHint)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    <details>
      <summary>As <code>tools/list</code> shows them</summary>
      <pre tabindex="0" role="group" aria-label="The tools as JSON">${json(text)}</pre>
    </details>
  </section>`;
}
