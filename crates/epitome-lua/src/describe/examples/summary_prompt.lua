-- Asks for a summary under three headings.
return {
  summary_prompt = function(job)
    return {
      style = "separate",
      user = "Summarise this under the headings given.\n\n{conversation}\n\nKeep: {must_keep}",
      max_tokens = job.max_tokens,
      sections = { "Done", "Decided", "Next" },
    }
  end,
}
