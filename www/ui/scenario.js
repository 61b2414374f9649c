/** What this run is about: the situation, the ticket as the customer wrote it, what to try. */
import { html } from 'lit/html.js';
import './scenario.css';

/**
 * @param {import('../pkg/crashlab.js').ScenarioInfo | null} info
 * @param {() => void} onEdit
 */
export function scenario(info, onEdit) {
  if (!info) return html`<section class="scenario"></section>`;
  return html`<section class="scenario" aria-labelledby="scenario-title">
    <h2 id="scenario-title">${info.title}</h2>
    <p>${info.summary} <button class="link" @click=${onEdit}>Edit</button></p>
    <h3>What to try</h3>
    <ol>
      ${info.watch.map((sentence) => html`<li>${sentence}</li>`)}
    </ol>
    <figure>
      <figcaption>The ticket</figcaption>
      <blockquote>${info.ticket}</blockquote>
    </figure>
  </section>`;
}
