/** The agent itself: plan, guards, conversation. After a crash it is strikingly empty. */
import { html, nothing } from 'lit/html.js';
import { LATEST, count, latest, plural } from './format.js';
import { mark } from './mark.js';
import './memory.css';

/** @typedef {import('../pkg/crashlab.js').MemoryView} MemoryView */

/**
 * @param {MemoryView | null} memory
 * @param {{ gone: boolean, sudden: boolean, activity: string | null }} state  `gone`: the agent died; `sudden`: a moment ago.
 */
export function memory(memory, { gone, sudden, activity }) {
  return html`<section class="panel memory ${gone ? 'gone' : ''}" aria-labelledby="memory-title">
    <header>
      <h2 id="memory-title">Memory</h2>
      <p>${gone ? 'empty' : memory ? `the agent, step ${memory.step}` : ''}</p>
      <span class="activity" ?hidden=${activity === null}>${activity}</span>
    </header>
    ${
      gone
        ? html`<div class="hollow ${sudden ? 'sudden' : ''}">
            <p>The agent is gone. Everything it knew is gone.</p>
            <p>Storage and the world are still there.</p>
          </div>`
        : memory
          ? full(memory)
          : nothing
    }
  </section>`;
}

/** @param {MemoryView} memory */
function full({ plan, guards, messages, llm_calls, input_tokens, output_tokens, cost_usd }) {
  return html`<div class="body" tabindex="0" role="group" aria-label="What the agent knows">
    <h3>
      Plan
      <small ${mark(plan.version)}
        >version ${plan.version}${plan.needs_replan ? ', has to plan again' : ''}</small
      >
    </h3>
    ${
      plan.steps.length === 0
        ? html`<p class="none">No plan yet.</p>`
        : html`<ol class="plan">
            ${plan.steps.map((step) => html`<li ${mark(step)}>${step}</li>`)}
          </ol>`
    }
    <h3>Spent <small>as the agent counts</small></h3>
    <p class="figures">
      <span ${mark(cost_usd)}>${cost_usd} USD</span> <span>${plural(llm_calls, 'model call')}</span>
      <span>${count(input_tokens)} + ${count(output_tokens)} tokens</span>
    </p>
    <h3>Guards</h3>
    <table class="guards">
      <tbody>
        ${guards.map(
          ({ name, observed, limit, share }) =>
            html`<tr>
              <th scope="row">${name}</th>
              <td ${mark(observed)}>${observed}</td>
              <td>of ${limit}</td>
              <td class="share">
                <meter min="0" max="1" .value=${Math.min(1, share)} aria-label="${name}"></meter>
              </td>
            </tr>`,
        )}
      </tbody>
    </table>
    <h3>
      Conversation
      <small
        >${plural(messages.length, 'message')}${messages.length > LATEST ? `, the last ${LATEST}` : ''}</small
      >
    </h3>
    <ol class="messages">
      ${latest(messages).map(
        ({ role, text, tool }) =>
          html`<li ${mark(text)}>
            <span class="role">${role === 'tool' ? tool : role}</span
            ><span class="said">${text}</span>
          </li>`,
      )}
    </ol>
  </div>`;
}
