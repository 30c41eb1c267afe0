"""Which memories belong to a question, and how sure is that?"""
