/** Something to look at or to answer before going on. */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

interface DialogProps {
  label: string;
  onClose: () => void;
  class?: string;
  children: ComponentChildren;
}

export function Dialog({ label, onClose, class: name = "", children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const isGone = useRef(false);
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    const dialog = element.current!;
    // At once: a key that comes before it would go to the page behind.
    dialog.showModal();
    return () => {
      // A browser gives the focus back where a dialog is closed, not where it is taken away.
      isGone.current = true;
      dialog.close();
      const menu = before?.closest("details")?.querySelector("summary");
      (before?.checkVisibility() ? before : menu)?.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={name}
      aria-label={label}
      onClose={() => isGone.current || onClose()}
      onClick={(event) => {
        // A click beside it closes it: what lies beside is the dialog's own backdrop.
        if (event.target === element.current) element.current?.close();
      }}
    >
      <div class="dialog-body">
        <button type="button" class="plain dialog-close" aria-label="Close" onClick={() => element.current?.close()}>
          ×
        </button>
        {children}
      </div>
    </dialog>
  );
}

interface ConfirmProps {
  question: string;
  consequence: string;
  act: string;
  onYes: () => void;
  onNo: () => void;
}

/** Asks before something that cannot be undone. */
export function Confirm({ question, consequence, act, onYes, onNo }: ConfirmProps) {
  return (
    <Dialog label={question} onClose={onNo}>
      <h2>{question}</h2>
      <p class="quiet">{consequence}</p>
      <div class="row actions">
        <button type="button" class="danger" onClick={onYes}>
          {act}
        </button>
        <button type="button" onClick={onNo}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}
