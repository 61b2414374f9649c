/** The viewer: everything that a run needs to be read. It is loaded when a run is about to begin, or is found. */
export { approval } from './approval.js';
export { ledgerRows, worldRecords } from './books.js';
export { compare } from './compare.js';
export { crashMenu } from './crash-menu.js';
export { detail } from './detail.js';
export { help } from './help.js';
export { imported } from './imported.js';
export { Lens } from './lens.js';
export { runs } from './runs.js';
export { saved } from './saved.js';
export { stand } from './stand.js';
export { createTimeline } from './timeline.js';
export { createTrace } from './trace.js';
